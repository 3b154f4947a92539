"""Messages and their parts: what people, models and tools say, as it is kept.

A log entry is a Message as well: user input with all its parts, and one entry for every other block.
Entries of one model message share `meta.messageId`; `turnwire.core.grouping` makes the whole message of
them. As it streams, a message is a row of `turnwire.core.message_deltas`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from turnwire.core.lenient import Unknown, salvage
from turnwire.core.question_names import asked_by_name

__all__ = [
    "ROLE_PARTS",
    "SCHEMA_VERSION",
    "BlobRef",
    "EventName",
    "FileRefPart",
    "FileRefPayload",
    "ImagePart",
    "ImagePayload",
    "KeptBlock",
    "Message",
    "MessagePart",
    "Meta",
    "Role",
    "TextPart",
    "TextPayload",
    "ThinkingPart",
    "ThinkingPayload",
    "TokenUsage",
    "ToolCallPart",
    "ToolCallPayload",
    "ToolResultPart",
    "ToolResultPayload",
    "UnknownPart",
    "known_meta",
    "meta_of",
    "parse_arguments",
    "run_id",
    "split_run_id",
    "to_json",
]

SCHEMA_VERSION = 1

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

EventName: TypeAlias = Literal[
    "permission_request",
    "input_request",
    "request_resolved",
    "interrupted",
    "rewind",
    "system",
]


# --- parts ------------------------------------------------------------------------------------


class _Wire(Struct, frozen=True, omit_defaults=True, rename="camel", gc=False):
    pass


class BlobRef(_Wire, frozen=True):
    """Where content is that was too large to stay; what stands in its place is a preview."""

    blob_id: str
    mime_type: str
    size: int  # bytes


class TextPayload(_Wire, frozen=True):
    """Words for a person."""

    text: str
    citations: list[Any] | None = None  # the sources the words rest on, as the agent gave them
    blob: BlobRef | None = None  # the whole text, where `text` is only a preview


class ThinkingPayload(_Wire, frozen=True):
    """The model's reasoning."""

    text: str
    signature: str | None = None  # proof of origin; the model's API wants it back unchanged
    redacted: str | None = None  # reasoning that may only be handed back, not read
    blob: BlobRef | None = None  # the whole text, where `text` is only a preview


class ToolCallPayload(_Wire, frozen=True):
    """A call of a tool."""

    tool_call_id: str  # the agent's own id of the call, unique in its run
    tool_name: str
    arguments: dict[str, Any]
    raw_args_text: str | None = None  # what the model wrote, where that is not a JSON object
    tool_type: str | None = None  # a family a front end can switch on: `CLAUDE_READ`, `MCP`, ...
    preview: str | None = None  # the beginning of the arguments, where they are in a blob
    blob: BlobRef | None = None  # the arguments, or the raw text, where they are too large
    asks: bool | None = None  # it is a question to a person; absent: as its tool's name says

    @property
    def is_question(self) -> bool:
        """Whether the call is a question to a person rather than work."""
        return asked_by_name(self.tool_name) if self.asks is None else self.asks


class ToolResultPayload(_Wire, frozen=True):
    """What a tool call gave back."""

    tool_call_id: str  # the call this answers
    is_error: bool
    content: list[MessagePart] | dict[str, Any] | str
    details: Raw | UnsetType = UNSET  # the tool's structured result, where the agent gives one
    blob: BlobRef | None = None  # the whole content, where `content` is only a preview
    details_blob: BlobRef | None = None  # the details, where they are too large


class ImagePayload(_Wire, frozen=True):
    """A picture: inline, by address, or in a blob."""

    mime_type: str  # `image/*` where the agent did not say
    data: str | None = None  # base64
    url: str | None = None
    blob: BlobRef | None = None  # the picture, where it is too large


class FileRefPayload(_Wire, frozen=True):
    """A file, named but not included."""

    path: str
    mime_type: str | None = None
    size: int | None = None  # bytes
    blob: BlobRef | None = None  # its content, where that was given along


class _Part(Struct, frozen=True, tag_field="kind", gc=False):
    pass


class TextPart(_Part, frozen=True, tag="text"):
    """Words for a person."""

    payload: TextPayload


class ThinkingPart(_Part, frozen=True, tag="thinking"):
    """The model's reasoning."""

    payload: ThinkingPayload


class ToolCallPart(_Part, frozen=True, tag="tool_call"):
    """A call of a tool. A message may have several."""

    payload: ToolCallPayload


class ToolResultPart(_Part, frozen=True, tag="tool_result"):
    """What one tool call gave back."""

    payload: ToolResultPayload


class ImagePart(_Part, frozen=True, tag="image"):
    """A picture."""

    payload: ImagePayload


class FileRefPart(_Part, frozen=True, tag="file_ref"):
    """A file."""

    payload: FileRefPayload


class UnknownPart(Unknown, frozen=True, tag_field="kind", tag="unknown", gc=False):
    """A part of a kind this version does not know. `encode` writes it as it came."""


MessagePart: TypeAlias = (
    TextPart | ThinkingPart | ToolCallPart | ToolResultPart | ImagePart | FileRefPart | UnknownPart
)


# --- a message --------------------------------------------------------------------------------


class Message(_Wire, frozen=True):
    """One message, or one entry of the log."""

    run_id: str  # `conversation_id:turn_id`
    role: Role
    parts: list[MessagePart]  # in the order in which they were said, never reordered
    timestamp: str  # ISO 8601, UTC
    meta: dict[str, Any] = {}  # see Meta; other keys are welcome


class KeptBlock(_Wire, frozen=True):
    """A block that no part kind fits, kept as it was."""

    position: int  # its place among the message's parts and kept blocks together, from 0
    block: Any = None  # a content block
    blob: BlobRef | None = None  # the block as JSON, where it is too large


class TokenUsage(_Wire, frozen=True):
    """What one model message consumed."""

    input_tokens: int  # tokens read, without what came from a cache
    output_tokens: int
    total_tokens: int  # all of them, the cached ones too
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: float | None = None  # US dollars, where the agent says


class Meta(_Wire, frozen=True):
    """The keys of `Message.meta` that have a meaning here."""

    schema_version: int = 0  # of the message's own shape; absent means 1
    message_id: str | None = None  # the model message that this is, or is a block of
    turn_id: int | None = None
    index: int | None = None  # an entry's block: its place in the model message
    blocks: list[KeptBlock] | None = None  # what no part kind fits
    provider: str | None = None  # the agent that speaks
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id
    uuid: str | None = None  # the agent's own id of the frame that said it
    origin: str | None = None  # whose words a user message is: `user`, `synthetic`, ...
    by: str | None = None  # the user who sent it
    client_message_id: str | None = None  # what its sender calls it
    model_id: str | None = None
    request_id: str | None = None  # the model request, where the agent says
    finish_reason: str | None = None  # why the model stopped
    usage: TokenUsage | None = None
    args_not_json: list[str] | None = None  # tool calls whose arguments are in `rawArgsText`
    error: str | None = None  # the API failed and the words say so: `rate_limit`, ...
    aborted: bool = False  # cut short
    incomplete: bool = False  # assembled from a stream that did not end
    message_type: EventName | None = None  # which event a system entry tells
    data: Any = None  # that event's particulars
    unknown_deltas: list[Any] | None = None  # deltas of kinds this version does not know
    extra: dict[str, Any] | None = None  # unknown fields, by JSON pointer; `encode` puts them back


# --- who says what -----------------------------------------------------------------------------

# Section 3.2 of the contract. A kind from a newer version is not forbidden: it is not known.
ROLE_PARTS: Mapping[Role, tuple[type[Struct], ...]] = {
    "system": (TextPart, ThinkingPart, UnknownPart),
    "user": (TextPart, ImagePart, FileRefPart, UnknownPart),
    "assistant": (TextPart, ThinkingPart, ToolCallPart, UnknownPart),
    "tool": (ToolResultPart, UnknownPart),
}


def run_id(conversation_id: str, turn_id: int) -> str:
    """The name of a run: a turn of a conversation."""
    return f"{conversation_id}:{turn_id}"


@lru_cache(maxsize=256)  # every entry of a run asks
def split_run_id(run: str) -> tuple[str, int | None]:
    """The conversation and the turn; a foreign run id has no turn."""
    conversation_id, colon, turn = run.rpartition(":")
    if colon and turn.isascii() and turn.isdigit():
        return conversation_id, int(turn)
    return run, None


# Each field of Meta: its name on the wire, and the value that goes without saying.
_META_FIELDS = {field.name: (field.encode_name, field.default) for field in structs.fields(Meta)}


def meta_of(run: str, **known: Any) -> dict[str, Any]:
    """`Message.meta` with these keys of Meta, and those that every message has.

    Every entry has one, so it is not made by way of JSON: all but `usage` and `blocks` have to be
    plain JSON values already.
    """
    meta: dict[str, Any] = {"schemaVersion": SCHEMA_VERSION}
    _, turn_id = split_run_id(run)
    if turn_id is not None:
        meta["turnId"] = turn_id
    for name, value in known.items():
        key, default = _META_FIELDS[name]
        if value is not default:
            meta[key] = value
    if "usage" in meta:
        meta["usage"] = msgspec.to_builtins(meta["usage"])
    if "blocks" in meta:
        meta["blocks"] = to_json(meta["blocks"])
    return meta


def known_meta(message: Message) -> Meta:
    """The keys with a meaning, typed. One whose value makes no sense counts as absent."""
    meta = salvage(Meta, message.meta, [])
    assert isinstance(meta, Meta)
    return meta


def parse_arguments(text: str) -> dict[str, Any] | None:
    """A tool call's arguments, if the text is a JSON object. No text at all means no arguments."""
    if not text:
        return {}
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def to_json(thing: Any) -> Any:
    """Plain JSON values of anything here; msgspec's own to_builtins knows no Raw."""
    return msgspec.json.decode(msgspec.json.encode(thing))
