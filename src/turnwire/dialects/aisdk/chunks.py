"""The chunks of a UI message stream, one type for each kind that Turnwire sends."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

__all__ = [
    "Abort",
    "Chunk",
    "DataChunk",
    "Error",
    "File",
    "Finish",
    "FinishStep",
    "MessageMetadata",
    "Metadata",
    "ReasoningDelta",
    "ReasoningEnd",
    "ReasoningStart",
    "SourceDocument",
    "SourceUrl",
    "Start",
    "StartStep",
    "TextDelta",
    "TextEnd",
    "TextStart",
    "ToolApprovalRequest",
    "ToolInputAvailable",
    "ToolInputDelta",
    "ToolInputError",
    "ToolInputStart",
    "ToolOutputAvailable",
    "ToolOutputError",
    "ToolProgress",
]

Metadata: TypeAlias = dict[str, dict[str, Any]]  # by provider; ours is `turnwire`


class Chunk(Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A chunk. An unknown `type` is fatal to the reader, so no other kind may be sent."""


class _Chunk(Chunk, frozen=True, tag_field="type"):
    """A chunk with a `type` of its own."""


# --- the message ----------------------------------------------------------------------------------


class Start(_Chunk, frozen=True, tag="start"):
    """The message begins, or a stopped stream of it continues."""

    message_id: str
    message_metadata: Any = None


class StartStep(_Chunk, frozen=True, tag="start-step"):
    """A step begins. A turn is one step here."""


class FinishStep(_Chunk, frozen=True, tag="finish-step"):
    """The step has ended."""


class MessageMetadata(_Chunk, frozen=True, tag="message-metadata"):
    """Metadata, merged into that of the message."""

    message_metadata: Any


class Finish(_Chunk, frozen=True, tag="finish"):
    """The stream of the message has ended."""

    finish_reason: Literal["stop", "length", "tool-calls", "error", "other"] | None = None
    message_metadata: Any = None


class Abort(_Chunk, frozen=True, tag="abort"):
    """The turn was interrupted."""


class Error(_Chunk, frozen=True, tag="error"):
    """The turn has failed, or the stream cannot continue."""

    error_text: str


# --- text and reasoning ---------------------------------------------------------------------------


class _Bound(_Chunk, frozen=True):
    id: str
    provider_metadata: Metadata | None = None


class _Delta(_Chunk, frozen=True):
    id: str
    delta: str


class TextStart(_Bound, frozen=True, tag="text-start"):
    """A text begins."""


class TextDelta(_Delta, frozen=True, tag="text-delta"):
    """A text grows."""


class TextEnd(_Bound, frozen=True, tag="text-end"):
    """A text is finished, or will never be."""


class ReasoningStart(_Bound, frozen=True, tag="reasoning-start"):
    """Reasoning begins."""


class ReasoningDelta(_Delta, frozen=True, tag="reasoning-delta"):
    """Reasoning grows."""


class ReasoningEnd(_Bound, frozen=True, tag="reasoning-end"):
    """Reasoning is finished, or will never be."""


# --- tools ----------------------------------------------------------------------------------------


class _Executed(_Chunk, frozen=True, kw_only=True, omit_defaults=False):
    """The agent runs its tools itself, and the front end need not know them."""

    dynamic: bool = True
    provider_executed: bool = True


class ToolInputStart(_Executed, frozen=True, tag="tool-input-start"):
    """The input of a tool call begins."""

    tool_call_id: str
    tool_name: str


class ToolInputDelta(_Chunk, frozen=True, tag="tool-input-delta"):
    """The input of a tool call grows: more JSON text."""

    tool_call_id: str
    input_text_delta: str


class ToolInputAvailable(_Executed, frozen=True, tag="tool-input-available"):
    """A tool call is complete."""

    tool_call_id: str
    tool_name: str
    input: Any
    provider_metadata: Metadata | UnsetType = UNSET


class ToolInputError(_Executed, frozen=True, tag="tool-input-error"):
    """A tool call is not valid JSON, or will never be finished."""

    tool_call_id: str
    tool_name: str
    input: Any
    error_text: str


class ToolOutputAvailable(_Executed, frozen=True, tag="tool-output-available"):
    """The result of a tool."""

    tool_call_id: str
    output: Any


class ToolProgress(_Executed, frozen=True, tag="tool-output-available"):
    """The output of a tool that still runs."""

    tool_call_id: str
    output: Any
    preliminary: bool = True


class ToolOutputError(_Executed, frozen=True, tag="tool-output-error"):
    """A tool has failed, or was not allowed."""

    tool_call_id: str
    error_text: str


class ToolApprovalRequest(_Chunk, frozen=True, tag="tool-approval-request"):
    """A tool call waits for a permission. Not known to version 5."""

    approval_id: str
    tool_call_id: str


# --- other parts ----------------------------------------------------------------------------------


class File(_Chunk, frozen=True, tag="file"):
    """A file or an image."""

    url: str
    media_type: str


class SourceUrl(_Chunk, frozen=True, tag="source-url"):
    """A web page that a text refers to."""

    source_id: str
    url: str
    title: str | None = None


class SourceDocument(_Chunk, frozen=True, tag="source-document"):
    """A document that a text refers to."""

    source_id: str
    media_type: str
    title: str


class DataChunk(Chunk, frozen=True):
    """Data of our own: a question, a permission, a plan, ... A later one with the same id replaces
    it.
    """

    type: str  # begins with `data-`
    id: str
    data: Any
