"""What a person sees: the whole conversation as a front end draws it."""

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
    """What every block has."""

    id: str
    status: BlockStatus  # frozen: a piece is missing, the whole will come


class TextView(_Block, frozen=True, tag="text"):
    """Words."""

    text: str
    citations: list[Any] | None = None  # the sources the words rest on
    blob: Blob | None = None  # the whole text, where `text` is only its beginning


class ThinkingView(_Block, frozen=True, tag="thinking"):
    """Reasoning."""

    text: str
    signature: str | None = None  # proof of origin
    redacted: str | None = None  # reasoning that may only be handed back, not read
    blob: Blob | None = None  # the whole text, where `text` is only its beginning


class ResultView(_Shown, frozen=True):
    """What a tool gave back."""

    content: Any
    is_error: bool
    details: Raw | UnsetType = UNSET  # the tool's structured result, where the agent gives one
    blob: Blob | None = None  # the whole content, where `content` is only its beginning
    details_blob: Blob | None = None


class RequestView(_Shown, frozen=True):
    """What a tool call waited for, or waits for."""

    request_id: str
    kind: Annotated[str, known(RequestKind)]
    outcome: Annotated[str, known(Outcome)] | None = None  # absent: it still waits
    by: str | None = None  # the user who answered, or what ended it
    answer: Any = None
    decision: str | None = None  # of a permission: allow, deny
    reason: str | None = None
    updated_input: Any = None  # of a permission: what ran instead of what was shown


class ToolView(_Block, frozen=True, tag="tool"):
    """A tool's card: the call, what it waits for, what it prints, what it gave back."""

    tool_name: str
    tool_type: str | None = None
    input: Any = None
    input_text: str | None = None  # while it streams, or where it is no JSON
    request: RequestView | None = None  # the latest question or permission about it
    output: str | None = None  # what it has printed; gone when the result is there
    elapsed_seconds: float | None = None  # while it runs
    result: ResultView | None = None  # absent: it still runs
    messages: list[MessageView] = []  # what its sub-agent says
    blob: Blob | None = None  # the arguments, where they are too large to be here


class OtherView(_Block, frozen=True, tag="block"):
    """Any other block or content."""

    block: Any
    blob: Blob | None = None


class EventView(_Block, frozen=True, tag="event"):
    """Something that happened, told between the messages."""

    name: str  # `system` or `interrupted`
    subtype: str | None = None  # of `system`: the agent's word
    text: str | None = None  # for a person
    data: Any = None


BlockView: TypeAlias = TextView | ThinkingView | ToolView | OtherView | EventView


# --- messages, turns, everything ----------------------------------------------------------------


class MessageView(_Shown, frozen=True):
    """A message. It keeps its id from its first piece to the end."""

    id: str
    role: Literal["user", "assistant", "system"]
    blocks: list[BlockView]
    streaming: bool = False  # some block of it still grows
    turn_id: int | None = None
    sequence: int | None = None  # the number of its first entry in the log
    timestamp: str | None = None  # of that entry
    model: str | None = None
    error: str | None = None  # the API failed and these words say so
    origin: str | None = None  # of a user message: whose words these are, if not a person's
    by: str | None = None  # the user who sent it
    client_message_id: str | None = None  # what its sender calls it
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None


class TurnView(_Shown, frozen=True):
    """A turn that is over."""

    turn_id: int
    end: TurnEnd


class View(_Shown, frozen=True):
    """Everything on the screen."""

    messages: list[MessageView]
    turns: list[TurnView]  # those that are over, in order
    status: Status | None = None  # absent: not told yet
    plan: list[Any] = []  # the agent's to-do list, as it is now
    totals: Totals | None = None
    title: str | None = None
    epoch: str | None = None
    first: int = 1  # the number of the first entry shown
    cursor: int = 0  # the number of the last one
    behind: bool = False  # an entry is missing: connect again with last_sequence = cursor
