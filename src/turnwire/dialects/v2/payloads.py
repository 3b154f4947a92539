"""The payloads of the server frames of protocol v2."""

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


# --- connection ---------------------------------------------------------------------------------


class SessionInfo(_Payload, frozen=True):
    """The position of this connection in the log."""

    connection_id: str  # identifies this connection
    client_id: str  # identifies this user's client over all its connections
    epoch: str  # identifies this incarnation of the log
    first: int  # the number of the first entry that this connection will get
    head: int  # the number of the newest entry; 0: none yet
    capabilities: Capabilities
    limits: Limits


class Reset(_Payload, frozen=True):
    """The client's copy is not part of this log. The client must drop all of it."""

    reason: Annotated[str, known(ResetReason)]  # another log, unknown number, too many missed
    epoch: str  # the epoch to store from now on
    first: int  # the number of the first entry that follows


class ReplayComplete(_Payload, frozen=True):
    """The replay is complete."""

    through: int  # the client has the log up to this number


# --- blocks and messages ------------------------------------------------------------------------


class UserWords(_Payload, frozen=True):
    """A message to the agent, from a person or, as `origin` says, from another source."""

    content: list[Content]
    message_sequence: int
    client_message_id: str | None = None  # the sender's id of the message
    by: str | None = None  # the user who sent it
    origin: Annotated[str, known(UserOrigin)] = "user"  # the source of the message
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that got this message
    agent_id: str | None = None  # that sub-agent's id
    steered_as: str | None = None  # it went into the running turn; its queue_id before that


class BlockPayload(_Payload, frozen=True):
    """The fields of every block."""

    block_id: str  # the message's id and the index, or a tool call's id
    message_id: str  # the agent's id of the model message
    index: int  # the position of the block in its message
    partial: bool  # true: a piece of a growing block; false: the whole block, finished


class Chunk(BlockPayload, frozen=True):
    """Text."""

    text: str  # partial: the new text; snapshot: all so far; finished: all
    chunk_seq: int | None = None  # counts the pieces of a block from 1; on partials and snapshots
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that wrote this
    agent_id: str | None = None  # that sub-agent's id
    snapshot: bool = False  # all so far, up to chunk_seq
    message_sequence: int | None = None  # always on a finished block
    aborted: bool = False  # ended before it was finished
    model: str | None = None
    citations: list[Any] | None = None  # the sources of the text
    error: str | None = None  # the text reports this API error: `rate_limit`, ...
    blob: Blob | None = None  # the whole text, if `text` is only its beginning


class Thinking(BlockPayload, frozen=True):
    """Reasoning."""

    text: str  # partial: the new text; snapshot: all so far; finished: all
    chunk_seq: int | None = None  # counts the pieces of a block from 1; on partials and snapshots
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that wrote this
    agent_id: str | None = None  # that sub-agent's id
    snapshot: bool = False  # all so far, up to chunk_seq
    message_sequence: int | None = None  # always on a finished block
    aborted: bool = False  # ended before it was finished
    model: str | None = None
    signature: str | None = None  # proof of origin
    redacted: str | None = None  # encrypted reasoning: can be sent back to the model, but not read
    blob: Blob | None = None  # the whole text, if `text` is only its beginning


class ToolCall(BlockPayload, frozen=True):
    """A tool call."""

    tool_use_id: str  # the agent's own id of the call
    tool_name: str
    tool_type: str | None = None  # a category for the front end: `CLAUDE_READ`, `MCP`, ...
    input: Any = None  # finished: the arguments
    input_text: str | None = None  # partial: more JSON text; finished: input that is not valid JSON
    chunk_seq: int | None = None  # counts the pieces of a block from 1; on partials and snapshots
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that wrote this
    agent_id: str | None = None  # that sub-agent's id
    snapshot: bool = False  # all so far, up to chunk_seq
    message_sequence: int | None = None  # always on a finished block
    aborted: bool = False  # ended before it was finished
    model: str | None = None
    blob: Blob | None = None  # the arguments, if they are too large for the frame


class OtherBlock(BlockPayload, frozen=True):
    """A block that is neither text nor thinking nor a tool call."""

    block: Any = None  # a content block
    chunk_seq: int | None = None  # counts the pieces of a block from 1; on partials and snapshots
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that wrote this
    agent_id: str | None = None  # that sub-agent's id
    snapshot: bool = False  # all so far, up to chunk_seq
    message_sequence: int | None = None  # always on a finished block
    aborted: bool = False  # ended before it was finished
    model: str | None = None
    blob: Blob | None = None  # the block as JSON, if it is too large for the frame


class ToolProgressed(_Payload, frozen=True):
    """Progress of a running tool."""

    tool_use_id: str
    output: str | None = None  # the output since the last progress
    elapsed_seconds: float | None = None
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that made the call
    agent_id: str | None = None  # that sub-agent's id
    tool_name: str | None = None


class ToolResult(_Payload, frozen=True):
    """The result of a tool call or of a question. `tool_use_id` names the call."""

    tool_use_id: str
    is_error: bool
    content: Any  # text, a list of content, or an object
    message_sequence: int
    details: Raw | UnsetType = UNSET  # the tool's structured result, if the agent provides one
    blob: Blob | None = None  # the whole content, if `content` is only its beginning
    details_blob: Blob | None = None  # the details, if they are too large for the frame
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that made the call
    agent_id: str | None = None  # that sub-agent's id


class Discarded(_Payload, frozen=True):
    """Blocks that were growing and will never be finished. A client removes them."""

    block_ids: list[str]
    reason: str | None = None  # abandoned, restarted, replaced, turn_ended, stream_ended
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that wrote them
    agent_id: str | None = None  # that sub-agent's id


# --- turns --------------------------------------------------------------------------------------


class TurnStart(_Payload, frozen=True):
    """A turn starts, or resumes after its question was answered."""

    turn_id: int
    origin: Annotated[str, known(TurnOrigin)]  # a message, the agent itself, or an answer
    queue_id: str | None = None  # the queued message that the turn takes
    client_message_id: str | None = None  # the sender's id of that message


# --- session ------------------------------------------------------------------------------------


class SystemNews(_Payload, frozen=True):
    """An event about the session."""

    subtype: (
        str  # from the agent: `init`, `status`, ...; from the server: `agent`, `plan`, `rewind`
    )
    message_sequence: int | None = None  # absent: the event is not stored
    text: str | None = None  # a text for people
    data: Any = None  # the agent's message
    provider: str | None = None
    parent_tool_use_id: str | None = None  # the tool call of the sub-agent that sent this
    agent_id: str | None = None  # that sub-agent's id


class ConversationNews(_Payload, frozen=True):
    """A change of the conversation. An absent field has not changed."""

    title: str | None = None  # empty: the title was removed
    totals: Totals | None = None


# --- acks and errors ----------------------------------------------------------------------------


StopOutcome: TypeAlias = Literal["requested", "already_ended"]


class Accepted(_Payload, frozen=True):
    """A client frame was accepted, and its effect is durable."""

    client_message_id: str | None = None
    duplicate: bool = False  # the frame was sent before: this repeats the first answer
    turn_id: int | None = None  # the turn that a message starts or is to go into, or that stops
    queue_id: str | None = None  # user.message: its id in the queue; user.queue: the queued message
    held: bool = False  # user.message: the queue was held, and resumes now
    request_id: str | None = None  # an answer or a decision: the request
    delivered_as: str | None = None  # an answer or a decision: how the agent gets it
    outcome: Annotated[str, known(StopOutcome)] | None = None  # user.interrupt
    model: str | None = None  # session.set_model
    mode: str | None = None  # session.set_permission_mode
    files: list[str] | None = None  # user.rewind: the files that were restored, or would be
    failed: list[str] | None = None  # user.rewind: the files that could not be restored
    max_thinking_tokens: int | None = None  # session.set_max_thinking_tokens
    result: Any = None  # session.control: a ControlResult
    agent: str | None = None  # session.set_agent
    rule_id: str | None = None  # session.forget_rule


class HeartbeatAck(_Payload, frozen=True):
    """The server is alive."""

    client_message_id: str | None = None


class ErrorPayload(_Payload, frozen=True):
    """A client frame was refused, or the connection must end."""

    code: Annotated[str, known(ErrorCode)]
    message: str  # an explanation for people
    retryable: bool  # a retry of the same frame may succeed later
    what_to_do: str
    client_message_id: str | None = None  # the refused frame; absent: no single frame
    data: dict[str, Any] = {}  # details, by code
