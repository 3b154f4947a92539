"""What the frames of the server carry."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.content import Blob, Content
from turnwire.core.error_codes import ErrorCode
from turnwire.core.event_payloads import (
    Decision,
    Interrupted,
    PermissionAsked,
    Process,
    QueueFate,
    RequestInput,
    RequestResolved,
)
from turnwire.core.events import UserOrigin
from turnwire.core.lenient import known
from turnwire.core.status import Capabilities, Limits, ResetReason, Totals, TurnOrigin

__all__ = [
    "Accepted",
    "BlockPayload",
    "Capabilities",
    "Chunk",
    "ConversationNews",
    "Decision",
    "Discarded",
    "ErrorPayload",
    "HeartbeatAck",
    "Interrupted",
    "Limits",
    "OtherBlock",
    "PermissionAsked",
    "Process",
    "QueueFate",
    "ReplayComplete",
    "RequestInput",
    "RequestResolved",
    "Reset",
    "ResetReason",
    "SessionInfo",
    "StopOutcome",
    "SystemNews",
    "Thinking",
    "ToolCall",
    "ToolProgressed",
    "ToolResult",
    "TurnStart",
    "UserWords",
]


class _Payload(Struct, frozen=True, omit_defaults=True, gc=False):
    pass


# --- where a connection stands ------------------------------------------------------------------


class SessionInfo(_Payload, frozen=True):
    """Where this connection stands."""

    connection_id: str  # of this connection alone
    client_id: str  # of this user's client, over its connections
    epoch: str  # this incarnation of the log
    first: int  # the number of the first entry that this connection will get
    head: int  # the number of the newest entry; 0: none yet
    capabilities: Capabilities
    limits: Limits


class Reset(_Payload, frozen=True):
    """The client's copy is not a part of this log: drop all of it."""

    reason: Annotated[str, known(ResetReason)]  # another log, no such number, too much missed
    epoch: str  # the epoch to keep from now on
    first: int  # the number of the first entry that follows


class ReplayComplete(_Payload, frozen=True):
    """Everything that was missed has been sent."""

    through: int  # the client has the log up to this number


# --- what is said -------------------------------------------------------------------------------


class UserWords(_Payload, frozen=True):
    """What was said to the agent, by a person or, marked so, by somebody else."""

    content: list[Content]
    message_sequence: int
    client_message_id: str | None = None  # what its sender calls it
    by: str | None = None  # the user who sent it
    origin: Annotated[str, known(UserOrigin)] = "user"  # whose words these are
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent was told this
    agent_id: str | None = None  # that sub-agent's id


class BlockPayload(_Payload, frozen=True):
    """What every block has."""

    block_id: str  # the message's id and the index, or a tool call's id
    message_id: str  # the agent's id of the model message
    index: int  # the block's place in its message
    partial: bool  # true: a piece of a block that grows; false: the whole block, finished


class Chunk(BlockPayload, frozen=True):
    """Text."""

    text: str  # partial: what is new; snapshot: all so far; finished: all
    chunk_seq: int | None = None  # counts the pieces of a block from 1; on partials and snapshots
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id
    snapshot: bool = False  # all so far, up to chunk_seq
    message_sequence: int | None = None  # on a finished block, always
    aborted: bool = False  # cut short
    model: str | None = None
    citations: list[Any] | None = None  # the sources the words rest on
    error: str | None = None  # the API failed and these words say so: `rate_limit`, ...
    blob: Blob | None = None  # the whole text, where `text` is only its beginning


class Thinking(BlockPayload, frozen=True):
    """Reasoning."""

    text: str  # partial: what is new; snapshot: all so far; finished: all
    chunk_seq: int | None = None  # counts the pieces of a block from 1; on partials and snapshots
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id
    snapshot: bool = False  # all so far, up to chunk_seq
    message_sequence: int | None = None  # on a finished block, always
    aborted: bool = False  # cut short
    model: str | None = None
    signature: str | None = None  # proof of origin
    redacted: str | None = None  # reasoning that may only be handed back, not read
    blob: Blob | None = None  # the whole text, where `text` is only its beginning


class ToolCall(BlockPayload, frozen=True):
    """A call of a tool."""

    tool_use_id: str  # the agent's own id of the call
    tool_name: str
    tool_type: str | None = None  # a family a front end can switch on: `CLAUDE_READ`, `MCP`, ...
    input: Any = None  # finished: the arguments
    input_text: str | None = None  # partial: more JSON text; finished: what is no JSON
    chunk_seq: int | None = None  # counts the pieces of a block from 1; on partials and snapshots
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id
    snapshot: bool = False  # all so far, up to chunk_seq
    message_sequence: int | None = None  # on a finished block, always
    aborted: bool = False  # cut short
    model: str | None = None
    blob: Blob | None = None  # the arguments, where they are too large to be here


class OtherBlock(BlockPayload, frozen=True):
    """A block that is neither text nor thinking nor a tool call."""

    block: Any = None  # a content block
    chunk_seq: int | None = None  # counts the pieces of a block from 1; on partials and snapshots
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id
    snapshot: bool = False  # all so far, up to chunk_seq
    message_sequence: int | None = None  # on a finished block, always
    aborted: bool = False  # cut short
    model: str | None = None
    blob: Blob | None = None  # the block as JSON, where it is too large to be here


class ToolProgressed(_Payload, frozen=True):
    """A tool still runs."""

    tool_use_id: str
    output: str | None = None  # what it printed since the last one
    elapsed_seconds: float | None = None
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id
    tool_name: str | None = None


class ToolResult(_Payload, frozen=True):
    """What a tool call, or a question, gave back. It joins the call by tool_use_id."""

    tool_use_id: str
    is_error: bool
    content: Any  # text, a list of content, or an object
    message_sequence: int
    details: Raw | UnsetType = UNSET  # the tool's structured result, where the agent gives one
    blob: Blob | None = None  # the whole content, where `content` is only its beginning
    details_blob: Blob | None = None  # the details, where they are too large to be here
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id


class Discarded(_Payload, frozen=True):
    """Blocks that were growing and will never be finished: take them away."""

    block_ids: list[str]
    reason: str | None = None  # abandoned, restarted, replaced, turn_ended, stream_ended
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent spoke
    agent_id: str | None = None  # that sub-agent's id


# --- turns --------------------------------------------------------------------------------------


class TurnStart(_Payload, frozen=True):
    """A turn begins, or goes on after its question was answered."""

    turn_id: int
    origin: Annotated[str, known(TurnOrigin)]  # a message, the agent by itself, or an answer
    queue_id: str | None = None  # the queued message that it takes up
    client_message_id: str | None = None  # what that message's sender calls it


# --- around it ----------------------------------------------------------------------------------


class SystemNews(_Payload, frozen=True):
    """Something about the session rather than in it."""

    subtype: str  # the agent's word: `init`, `status`, ...; ours: `plan`, `rewind`
    message_sequence: int | None = None  # absent: worth telling, not worth keeping
    text: str | None = None  # for a person
    data: Any = None  # the agent's own message
    provider: str | None = None
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id


class ConversationNews(_Payload, frozen=True):
    """Something about the conversation changed. What is absent did not."""

    title: str | None = None  # empty: it has none any more
    totals: Totals | None = None


# --- taken, or refused --------------------------------------------------------------------------


StopOutcome: TypeAlias = Literal["requested", "already_ended"]


class Accepted(_Payload, frozen=True):
    """A client frame was taken, and what it asks for is durable."""

    client_message_id: str | None = None
    duplicate: bool = False  # this frame came before: the first answer again
    turn_id: int | None = None  # user.message: the turn that it started; user.interrupt: the turn
    queue_id: str | None = None  # user.message: it waits under this id; user.queue: the item
    held: bool = False  # user.message: the queue had been held, and goes on now
    request_id: str | None = None  # an answer: what it answers
    delivered_as: str | None = None  # an answer: how the agent gets it
    outcome: Annotated[str, known(StopOutcome)] | None = None  # user.interrupt
    model: str | None = None  # session.set_model
    mode: str | None = None  # session.set_permission_mode
    files: list[str] | None = None  # user.rewind: the files that were put back, or would be
    failed: list[str] | None = None  # user.rewind: those that could not be
    max_thinking_tokens: int | None = None  # session.set_max_thinking_tokens
    result: Any = None  # session.control: a ControlResult


class HeartbeatAck(_Payload, frozen=True):
    """The server is there."""

    client_message_id: str | None = None


class ErrorPayload(_Payload, frozen=True):
    """A client frame was refused, or the connection cannot go on."""

    code: Annotated[str, known(ErrorCode)]
    message: str  # what happened, in words
    retryable: bool  # the same frame, sent again later, may succeed
    what_to_do: str
    client_message_id: str | None = None  # the frame that was refused; absent: none in particular
    data: dict[str, Any] = {}  # particulars, by code
