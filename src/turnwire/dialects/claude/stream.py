"""The stream events of a growing model message: the six events of the Messages API."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core.lenient import Unknown
from turnwire.core.usage import Usage
from turnwire.dialects.claude.blocks import ClaudeBlock

__all__ = [
    "AbandonedBlocks",
    "ApiMessage",
    "CitationsDelta",
    "ContentBlockDelta",
    "ContentBlockStart",
    "ContentBlockStop",
    "Delta",
    "InputJsonDelta",
    "MessageDelta",
    "MessageDeltaBody",
    "MessageStart",
    "MessageStop",
    "Ping",
    "SignatureDelta",
    "StreamError",
    "StreamEventBody",
    "TextDelta",
    "ThinkingDelta",
    "UnknownDelta",
    "UnknownStreamEvent",
]


class ApiMessage(Struct, frozen=True, omit_defaults=True, gc=False):
    """A model message. Every field may be missing, `content` may be null."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: str | list[ClaudeBlock] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None


# --- deltas -----------------------------------------------------------------------------------


class _Delta(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class TextDelta(_Delta, frozen=True, tag="text_delta"):
    """More text."""

    text: str = ""


class ThinkingDelta(_Delta, frozen=True, tag="thinking_delta"):
    """More reasoning."""

    thinking: str = ""


class SignatureDelta(_Delta, frozen=True, tag="signature_delta"):
    """The signature of the reasoning before it."""

    signature: str = ""


class InputJsonDelta(_Delta, frozen=True, tag="input_json_delta"):
    """More of a tool's **input**, as JSON text. Never a tool's output."""

    partial_json: str = ""


class CitationsDelta(_Delta, frozen=True, tag="citations_delta"):
    """A source of the text before it."""

    citation: Any = None


class UnknownDelta(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """A delta of a type that this version does not know."""

    keeps_whole = True


Delta: TypeAlias = (
    TextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta | CitationsDelta | UnknownDelta
)


# --- events -----------------------------------------------------------------------------------


class _Event(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class MessageStart(_Event, frozen=True, tag="message_start"):
    """A message starts. The message itself may be missing."""

    message: ApiMessage | None = None


class ContentBlockStart(_Event, frozen=True, tag="content_block_start"):
    """A block starts."""

    index: int
    content_block: ClaudeBlock


class ContentBlockDelta(_Event, frozen=True, tag="content_block_delta"):
    """A block grows."""

    index: int
    delta: Delta


class ContentBlockStop(_Event, frozen=True, tag="content_block_stop"):
    """A block ends."""

    index: int


class MessageDeltaBody(Struct, frozen=True, omit_defaults=True, gc=False):
    """Changes of the message itself."""

    stop_reason: str | None = None
    stop_sequence: str | None = None


class MessageDelta(_Event, frozen=True, tag="message_delta"):
    """The message's stop reason and its usage so far."""

    delta: MessageDeltaBody | None = None
    usage: Usage | None = None


class MessageStop(_Event, frozen=True, tag="message_stop"):
    """A message ends."""


class Ping(_Event, frozen=True, tag="ping"):
    """A heartbeat of the API."""


class StreamError(_Event, frozen=True, tag="error"):
    """An error of the API ended the stream."""

    error: Any = None


class UnknownStreamEvent(Unknown, frozen=True, tag_field="type", tag="unknown", gc=False):
    """A stream event of a type that this version does not know."""


StreamEventBody: TypeAlias = (
    MessageStart
    | ContentBlockStart
    | ContentBlockDelta
    | ContentBlockStop
    | MessageDelta
    | MessageStop
    | Ping
    | StreamError
    | UnknownStreamEvent
)


class AbandonedBlocks(Struct, frozen=True, omit_defaults=True, gc=False):
    """Part of a message_stop: the blocks from this index on will never be finished."""

    from_block_index: int  # the first abandoned block
    api_message_id: str | None = None
