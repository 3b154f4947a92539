"""The deltas of a message: the pieces of a model's output while it streams.

One stream is one model message; `turnwire.core.assembler` assembles it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.lenient import Unknown
from turnwire.core.message import KeptBlock

__all__ = [
    "DoneDelta",
    "DoneDeltaPayload",
    "ErrorDelta",
    "ErrorDeltaPayload",
    "MessageDelta",
    "StartDelta",
    "StartDeltaPayload",
    "TextDelta",
    "TextDeltaPayload",
    "ThinkingDelta",
    "ThinkingDeltaPayload",
    "ToolCallArgsDelta",
    "ToolCallArgsDeltaPayload",
    "ToolCallEndDelta",
    "ToolCallEndDeltaPayload",
    "ToolCallStartDelta",
    "ToolCallStartDeltaPayload",
    "UnknownDelta",
    "UsageDelta",
    "UsageDeltaPayload",
]

# --- streamed deltas ------------------------------------------------------------------------------


class _DeltaPayload(
    Struct, frozen=True, omit_defaults=True, rename="camel", gc=False, kw_only=True
):
    """The fields that every payload may have."""

    message_id: str | None = None  # the model message; this server always sets it
    extra: dict[str, Any] | None = None  # unknown fields, by JSON pointer; `encode` restores them


class StartDeltaPayload(_DeltaPayload, frozen=True):
    """The model begins a message."""

    model_id: str | None  # null if the agent does not give it
    request_id: str | None  # null if the agent does not give it
    provider: str | None = None
    parent_tool_use_id: str | None = None  # the tool call that started the speaking sub-agent
    agent_id: str | None = None  # the id of that sub-agent


class TextDeltaPayload(_DeltaPayload, frozen=True):
    """More text."""

    text_delta: str
    index: int | None = None  # the block; without it, adjacent deltas of one kind form one part
    citations: list[Any] | None = None  # further sources


class ThinkingDeltaPayload(_DeltaPayload, frozen=True):
    """More reasoning."""

    text_delta: str
    index: int | None = None  # the block; without it, adjacent deltas of one kind form one part
    signature: str | None = None  # sent once, when the block ends
    redacted: str | None = None


class ToolCallStartDeltaPayload(_DeltaPayload, frozen=True):
    """A tool call begins."""

    tool_call_id: str
    tool_name: str
    index: int | None = None  # the block
    tool_type: str | None = None
    asks: bool | None = None  # the call is a question to a person; absent: the tool's name decides


class ToolCallArgsDeltaPayload(_DeltaPayload, frozen=True):
    """More of a tool call's arguments, as JSON text."""

    tool_call_id: str
    args_text_delta: str


class ToolCallEndDeltaPayload(_DeltaPayload, frozen=True):
    """A tool call is complete: its arguments can be parsed."""

    tool_call_id: str
    arguments: dict[str, Any] | None = None  # if the agent changed the model's arguments


class UsageDeltaPayload(_DeltaPayload, frozen=True):
    """The token usage of the whole message, sent once."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: float | None = None


class DoneDeltaPayload(_DeltaPayload, frozen=True):
    """The message is complete."""

    finish_reason: str  # `unknown` if the agent does not give it
    blocks: list[KeptBlock] | None = (
        None  # blocks that no delta kind fits; `position` is the block's index
    )
    discarded_from: int | None = None  # blocks from this index on are discarded
    error: str | None = None  # the API failed and the message's text says so
    aborted: bool = False  # cut off by an interrupt


class ErrorDeltaPayload(_DeltaPayload, frozen=True):
    """The message failed."""

    error_code: str
    message: str | None = None
    retryable: bool | None = None


class _Traced(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename="camel",
    tag_field="kind",
    gc=False,
    kw_only=True,
):
    """The fields that every delta may have."""

    provider_raw: Raw | UnsetType = UNSET  # for debugging; nothing depends on it


class _Delta(_Traced, frozen=True):
    """The fields that every delta has."""

    run_id: str  # `conversation_id:turn_id`
    seq: int  # from 1, strictly increasing in one stream
    timestamp: str  # ISO 8601, UTC


class StartDelta(_Delta, frozen=True, tag="start"):
    """The first delta of a stream."""

    payload: StartDeltaPayload


class TextDelta(_Delta, frozen=True, tag="text"):
    """A piece of text."""

    payload: TextDeltaPayload


class ThinkingDelta(_Delta, frozen=True, tag="thinking"):
    """A piece of reasoning."""

    payload: ThinkingDeltaPayload


class ToolCallStartDelta(_Delta, frozen=True, tag="tool_call_start"):
    """A tool call begins."""

    payload: ToolCallStartDeltaPayload


class ToolCallArgsDelta(_Delta, frozen=True, tag="tool_call_args"):
    """A piece of a tool call's arguments."""

    payload: ToolCallArgsDeltaPayload


class ToolCallEndDelta(_Delta, frozen=True, tag="tool_call_end"):
    """A tool call ends."""

    payload: ToolCallEndDeltaPayload


class UsageDelta(_Delta, frozen=True, tag="usage"):
    """Token usage."""

    payload: UsageDeltaPayload


class DoneDelta(_Delta, frozen=True, tag="done"):
    """The last delta of a stream that results in a message."""

    payload: DoneDeltaPayload


class ErrorDelta(_Delta, frozen=True, tag="error"):
    """The last delta of a stream that results in no message."""

    payload: ErrorDeltaPayload


class UnknownDelta(Unknown, frozen=True, tag_field="kind", tag="unknown", gc=False):
    """A delta of a kind this version does not know. `encode` writes it unchanged."""


MessageDelta: TypeAlias = (
    StartDelta
    | TextDelta
    | ThinkingDelta
    | ToolCallStartDelta
    | ToolCallArgsDelta
    | ToolCallEndDelta
    | UsageDelta
    | DoneDelta
    | ErrorDelta
    | UnknownDelta
)
