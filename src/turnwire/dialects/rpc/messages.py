"""The RPC messages: five types that mirror the Claude SDK, and `system` as an option."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from turnwire.core.blocks import (
    CommandExecutionBlock,
    ErrorBlock,
    FileChangeBlock,
    FileRefBlock,
    McpToolCallBlock,
    Status,
    TodoListBlock,
    UnknownBlock,
    WebSearchBlock,
)
from turnwire.core.lenient import Unknown, salvage
from turnwire.core.text import encode_clean
from turnwire.core.usage import ModelUsage, Usage
from turnwire.errors import BadLine

__all__ = [
    "ClassicMessage",
    "RpcAssistantMessage",
    "RpcBlock",
    "RpcCompactBoundaryMessage",
    "RpcContentBlockDeltaEvent",
    "RpcContentBlockStartEvent",
    "RpcContentBlockStopEvent",
    "RpcDelta",
    "RpcErrorMessage",
    "RpcImageBlock",
    "RpcImageSource",
    "RpcInputJsonDelta",
    "RpcMessage",
    "RpcMessageContent",
    "RpcMessageDelta",
    "RpcMessageDeltaEvent",
    "RpcMessageStartEvent",
    "RpcMessageStopEvent",
    "RpcOutputDelta",
    "RpcResultMessage",
    "RpcStatusMessage",
    "RpcStreamEvent",
    "RpcStreamEventData",
    "RpcSystemMessage",
    "RpcTextBlock",
    "RpcTextDelta",
    "RpcThinkingBlock",
    "RpcThinkingDelta",
    "RpcToolResultBlock",
    "RpcToolUseBlock",
    "RpcUnknownDelta",
    "RpcUnknownMessage",
    "RpcUnknownStreamEvent",
    "RpcUserMessage",
    "ToolProgressMode",
    "decode",
    "encode",
]


# --- blocks -----------------------------------------------------------------------------------


class _Block(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


def _written(value: Any) -> Any:
    """Returns a default for a field that may be absent in input, and is always in output."""
    return field(default_factory=lambda: value)


def _default(value: Any) -> Meta:
    """Returns the same default for the JSON Schema."""
    return Meta(extra_json_schema={"default": value})


class RpcTextBlock(_Block, frozen=True, tag="text"):
    """Text."""

    text: str
    citations: list[Any] | None = None


class RpcThinkingBlock(_Block, frozen=True, tag="thinking"):
    """Reasoning."""

    thinking: str
    signature: str | None = None
    redacted: str | None = None  # encrypted reasoning: can be sent back to the model, but not read


class RpcToolUseBlock(
    _Block, frozen=True, tag="tool_use", rename={"tool_name": "toolName", "tool_type": "toolType"}
):
    """A tool call."""

    id: str
    tool_name: str
    tool_type: str  # a category for the front end: `CLAUDE_READ`, `MCP`, ...
    input: Annotated[Any, _default(None)] = _written(None)  # null while it streams
    status: Annotated[Status, _default("in_progress")] = _written("in_progress")
    input_text: str | None = None  # the streamed input, if it is not valid JSON


class RpcToolResultBlock(_Block, frozen=True, tag="tool_result"):
    """The result of a tool call."""

    tool_use_id: str
    content: Annotated[Any, _default(None)] = _written(None)
    is_error: Annotated[bool, _default(False)] = _written(False)


class RpcImageSource(Struct, frozen=True, omit_defaults=True, gc=False):
    """The source of an image, as in the Messages API."""

    type: str  # base64 or url
    media_type: str | None = None
    data: str | None = None
    url: str | None = None


class RpcImageBlock(_Block, frozen=True, tag="image"):
    """An image."""

    source: RpcImageSource


RpcBlock: TypeAlias = (
    RpcTextBlock
    | RpcThinkingBlock
    | RpcToolUseBlock
    | RpcToolResultBlock
    | RpcImageBlock
    | FileRefBlock
    | CommandExecutionBlock
    | FileChangeBlock
    | McpToolCallBlock
    | WebSearchBlock
    | TodoListBlock
    | ErrorBlock
    | UnknownBlock
)


# --- stream events ----------------------------------------------------------------------------


class RpcMessageContent(Struct, frozen=True, omit_defaults=True, gc=False):
    """The content of a message. `content` may be null or missing when the message starts."""

    content: list[RpcBlock] | None = None
    id: str | None = None  # the agent's message id; frames with the same id are one message
    model: str | None = None
    index: int | None = None  # the position of the first of these blocks in the whole message


class _Delta(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class RpcTextDelta(_Delta, frozen=True, tag="text_delta"):
    """More text."""

    text: str


class RpcThinkingDelta(_Delta, frozen=True, tag="thinking_delta"):
    """More reasoning."""

    thinking: str


class RpcInputJsonDelta(_Delta, frozen=True, tag="input_json_delta"):
    """More of a tool's input, as JSON text. Never a tool's output."""

    partial_json: str


class RpcOutputDelta(_Delta, frozen=True, tag="output_delta"):
    """More of a tool's output, for connections that chose `tool_progress: output_delta`."""

    output: str


class RpcUnknownDelta(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """A delta of a type that this version does not know."""


RpcDelta: TypeAlias = (
    RpcTextDelta | RpcThinkingDelta | RpcInputJsonDelta | RpcOutputDelta | RpcUnknownDelta
)


class _Event(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class RpcMessageStartEvent(_Event, frozen=True, tag="message_start"):
    """A message starts."""

    message: RpcMessageContent | None = None


class RpcContentBlockStartEvent(_Event, frozen=True, tag="content_block_start"):
    """A block starts."""

    index: int
    content_block: RpcBlock


class RpcContentBlockDeltaEvent(_Event, frozen=True, tag="content_block_delta"):
    """A block grows."""

    index: int
    delta: RpcDelta
    tool_use_id: str | None = None  # on a tool's output, because the tool's message may have ended


class RpcContentBlockStopEvent(_Event, frozen=True, tag="content_block_stop"):
    """A block has ended."""

    index: int


class RpcMessageDelta(Struct, frozen=True, omit_defaults=True, gc=False):
    """Changes of the message itself."""

    stop_reason: str | None


class RpcMessageDeltaEvent(_Event, frozen=True, tag="message_delta"):
    """The message's stop reason and usage; message_stop follows."""

    delta: RpcMessageDelta
    usage: Usage | None = None


class RpcMessageStopEvent(_Event, frozen=True, tag="message_stop"):
    """A message has ended. A client drops its blocks from `discarded_from` on."""

    discarded_from: int | None = None  # drop the blocks from this index on


class RpcUnknownStreamEvent(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """A stream event of a type that this version does not know."""


RpcStreamEventData: TypeAlias = (
    RpcMessageStartEvent
    | RpcContentBlockStartEvent
    | RpcContentBlockDeltaEvent
    | RpcContentBlockStopEvent
    | RpcMessageDeltaEvent
    | RpcMessageStopEvent
    | RpcUnknownStreamEvent
)


# --- the messages -----------------------------------------------------------------------------


class _Message(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class RpcUserMessage(_Message, frozen=True, tag="user"):
    """A message to the model. A tool's result is sent alone, as one of these."""

    message: RpcMessageContent
    provider: str
    parent_tool_use_id: str | None = None
    isSynthetic: bool | None = None  # noqa: N815 (Claude's spelling; said by the agent, not a person)
    isReplay: bool | None = None  # noqa: N815 (said in an earlier turn)
    uuid: str | None = None  # the agent's id of this frame
    agent_id: str | None = None  # the id of the sub-agent
    steered_as: str | None = (
        None  # it went into the running turn; the `queue_id` that it had before
    )


class RpcAssistantMessage(_Message, frozen=True, tag="assistant"):
    """Finished blocks of a message."""

    message: RpcMessageContent
    provider: str
    parent_tool_use_id: str | None = None
    error: str | None = None  # the message reports this API error
    aborted: bool = False  # ended early by an interrupt
    agent_id: str | None = None  # the id of the sub-agent


class RpcResultMessage(_Message, frozen=True, tag="result"):
    """The end of a turn, and its figures."""

    subtype: str
    duration_ms: int
    duration_api_ms: int
    is_error: bool
    num_turns: int
    session_id: str
    provider: str
    total_cost_usd: float | None = None  # since the agent process started
    cost_usd: float | None = None  # of this turn
    usage: Usage | None = None  # of this turn
    result: str | None = None
    stop_reason: str | None = None
    terminal_reason: str | None = None
    structured_output: Any = None
    errors: list[str] | None = None
    model_usage: dict[str, ModelUsage] | None = None  # of this turn, by model


class RpcStreamEvent(_Message, frozen=True, tag="stream_event"):
    """An event of a growing message."""

    uuid: str  # `evt-{stream}-{n}`
    session_id: str
    event: RpcStreamEventData
    provider: str
    parent_tool_use_id: str | None = None
    agent_id: str | None = None  # the id of the sub-agent


class RpcErrorMessage(_Message, frozen=True, tag="error"):
    """An error."""

    message: str
    provider: str
    code: str | None = None  # the agent's code: `api_error`, ...


class RpcSystemMessage(_Message, frozen=True, tag="system"):
    """An event about the session, only for connections that ask for it."""

    subtype: str
    session_id: str
    provider: str
    data: Raw | UnsetType = UNSET  # the agent's message, unchanged


class RpcUnknownMessage(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """A message of a type that this version does not know."""


RpcMessage: TypeAlias = (
    RpcUserMessage
    | RpcAssistantMessage
    | RpcResultMessage
    | RpcStreamEvent
    | RpcErrorMessage
    | RpcSystemMessage
    | RpcUnknownMessage
)


class RpcStatusMessage(_Message, frozen=True, tag="status_system"):
    """What the agent does besides its turn, only for the profile `classic`."""

    session_id: str
    provider: str
    status: Annotated[str | None, _default(None)] = _written(
        None
    )  # `compacting`; null: not any more
    subtype: Annotated[str, _default("status")] = _written("status")


class RpcCompactBoundaryMessage(_Message, frozen=True, tag="compact_boundary"):
    """The agent has replaced earlier messages by a summary, only for the profile `classic`."""

    session_id: str
    provider: str
    compact_metadata: Any = None  # the agent's own figures
    subtype: Annotated[str, _default("compact_boundary")] = _written("compact_boundary")


ClassicMessage: TypeAlias = RpcMessage | RpcStatusMessage | RpcCompactBoundaryMessage

# How a connection gets the output of a running tool (section 4.2).
ToolProgressMode: TypeAlias = Literal["off", "text_delta", "output_delta"]

_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[RpcMessage] = msgspec.json.Decoder(RpcMessage)


def encode(message: Any) -> bytes:
    """Encodes an RPC message as JSON."""
    return encode_clean(_encode, message)


def decode(raw: bytes) -> RpcMessage:
    """Decodes an RPC message. Unknown parts become Unknown. Raises BadLine if it is no object."""
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadLine("invalid_json", f"not JSON: {error}", line=1, raw=raw) from None
    if not isinstance(value, dict):
        raise BadLine("not_an_object", "not a JSON object", line=1, raw=raw)
    message: RpcMessage = salvage(RpcMessage, value, [])
    return message
