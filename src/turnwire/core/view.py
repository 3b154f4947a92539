"""The view of a conversation: the messages, turns and status that a front end shows."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.content import Blob
from turnwire.core.lenient import known
from turnwire.core.status import Outcome, RequestKind, Status, Totals, TurnEnd

__all__ = [
    "BlockStatus",
    "BlockView",
    "EventView",
    "MessageView",
    "OtherView",
    "RequestView",
    "ResultView",
    "TextView",
    "ThinkingView",
    "ToolView",
    "TurnView",
    "View",
]

BlockStatus: TypeAlias = Literal["streaming", "frozen", "complete", "aborted"]


class _Shown(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


# --- blocks -------------------------------------------------------------------------------------


class _Block(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    """The fields that every block has."""

    id: str
    status: BlockStatus  # frozen: a piece is missing; the finished block will follow


class TextView(_Block, frozen=True, tag="text"):
    """Text."""

    text: str
    citations: list[Any] | None = None  # the sources of the text
    blob: Blob | None = None  # the whole text, if `text` is only its beginning


class ThinkingView(_Block, frozen=True, tag="thinking"):
    """Reasoning."""

    text: str
    signature: str | None = None  # proof of origin
    redacted: str | None = None  # encrypted reasoning, to be returned to the model's API unread
    blob: Blob | None = None  # the whole text, if `text` is only its beginning


class ResultView(_Shown, frozen=True):
    """The result of a tool."""

    content: Any
    is_error: bool
    details: Raw | UnsetType = UNSET  # the tool's structured result, if the agent gives one
    blob: Blob | None = None  # the whole content, if `content` is only its beginning
    details_blob: Blob | None = None


class RequestView(_Shown, frozen=True):
    """The latest request of a tool call."""

    request_id: str
    kind: Annotated[str, known(RequestKind)]
    outcome: Annotated[str, known(Outcome)] | None = None  # absent: it is still open
    by: str | None = None  # the user who answered, or the cause of its end
    answer: Any = None
    decision: str | None = None  # of a permission: allow, deny
    reason: str | None = None
    updated_input: Any = None  # of a permission: the input that ran instead of the shown one


class ToolView(_Block, frozen=True, tag="tool"):
    """A tool's card: the call, its request, output and result."""

    tool_name: str
    tool_type: str | None = None
    input: Any = None
    input_text: str | None = None  # while it streams, or if it is not JSON
    request: RequestView | None = None  # the latest question or permission of the call
    output: str | None = None  # its output so far; absent once the result exists
    elapsed_seconds: float | None = None  # while it is running
    result: ResultView | None = None  # absent: it is still running
    messages: list[MessageView] = []  # the messages of its sub-agent
    blob: Blob | None = None  # the arguments, if they are too large to be inline


class OtherView(_Block, frozen=True, tag="block"):
    """Any other block or content."""

    block: Any
    blob: Blob | None = None


class EventView(_Block, frozen=True, tag="event"):
    """An event between the messages."""

    name: str  # `system` or `interrupted`
    subtype: str | None = None  # of `system`: the agent's name for it
    text: str | None = None  # for a person
    data: Any = None


BlockView: TypeAlias = TextView | ThinkingView | ToolView | OtherView | EventView


# --- messages, turns, view ------------------------------------------------------------------------


class MessageView(_Shown, frozen=True):
    """A message. Its id is the same from its first piece to the end."""

    id: str
    role: Literal["user", "assistant", "system"]
    blocks: list[BlockView]
    streaming: bool = False  # at least one block is unfinished
    turn_id: int | None = None
    sequence: int | None = None  # the number of its first entry in the log
    timestamp: str | None = None  # of that entry
    model: str | None = None
    error: str | None = None  # the API failed and the text says so
    origin: str | None = None  # of a user message: the author, if it is not a person
    by: str | None = None  # the user who sent it
    client_message_id: str | None = None  # the sender's own id of the message
    parent_tool_use_id: str | None = None  # the tool call that started the speaking sub-agent
    agent_id: str | None = None
    steered: bool = False  # of a user message: it went into the running turn


class TurnView(_Shown, frozen=True):
    """A turn that has ended."""

    turn_id: int
    end: TurnEnd


class View(_Shown, frozen=True):
    """The whole view of a conversation."""

    messages: list[MessageView]
    turns: list[TurnView]  # ended turns, in order
    status: Status | None = None  # absent: not received yet
    plan: list[Any] = []  # the agent's current to-do list
    totals: Totals | None = None
    title: str | None = None
    epoch: str | None = None
    first: int = 1  # the number of the first entry shown
    cursor: int = 0  # the number of the last entry
    behind: bool = False  # an entry is missing: connect again with last_sequence = cursor
