"""Messages and their parts: everything that people, models and tools say, as the log stores it.

A log entry is a Message as well: user input with all its parts, and one entry for every other
block. Entries of one model message share `meta.messageId`; `turnwire.core.grouping` joins them to
the whole message. While it streams, a message is a sequence of `turnwire.core.message_deltas`.
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
    """A reference to content that was too large to store inline; a preview takes its place."""

    blob_id: str
    mime_type: str
    size: int  # bytes


class TextPayload(_Wire, frozen=True):
    """Text for a person."""

    text: str
    citations: list[Any] | None = None  # the sources of the text, as the agent gave them
    blob: BlobRef | None = None  # the whole text, if `text` is only a preview


class ThinkingPayload(_Wire, frozen=True):
    """The model's reasoning."""

    text: str
    signature: str | None = None  # proof of origin; the model's API requires it back unchanged
    redacted: str | None = None  # encrypted reasoning, to be returned to the model's API unread
    blob: BlobRef | None = None  # the whole text, if `text` is only a preview


class ToolCallPayload(_Wire, frozen=True):
    """A tool call."""

    tool_call_id: str  # the agent's own id of the call, unique in its run
    tool_name: str
    arguments: dict[str, Any]
    raw_args_text: str | None = None  # the model's text, if it is not a JSON object
    tool_type: str | None = None  # a category for front ends: `CLAUDE_READ`, `MCP`, ...
    preview: str | None = None  # the beginning of the arguments, if they are in a blob
    blob: BlobRef | None = None  # the arguments, or the raw text, if they are too large
    asks: bool | None = None  # the call is a question to a person; absent: the tool's name decides

    @property
    def is_question(self) -> bool:
        """Returns whether the call is a question to a person."""
        return asked_by_name(self.tool_name) if self.asks is None else self.asks


class ToolResultPayload(_Wire, frozen=True):
    """The result of a tool call."""

    tool_call_id: str  # the call that this is the result of
    is_error: bool
    content: list[MessagePart] | dict[str, Any] | str
    details: Raw | UnsetType = UNSET  # the tool's structured result, if the agent gives one
    blob: BlobRef | None = None  # the whole content, if `content` is only a preview
    details_blob: BlobRef | None = None  # the details, if they are too large


class ImagePayload(_Wire, frozen=True):
    """An image: inline, by URL, or in a blob."""

    mime_type: str  # `image/*` if the agent did not say
    data: str | None = None  # base64
    url: str | None = None
    blob: BlobRef | None = None  # the image, if it is too large


class FileRefPayload(_Wire, frozen=True):
    """A file, by name, without its content."""

    path: str
    mime_type: str | None = None
    size: int | None = None  # bytes
    blob: BlobRef | None = None  # its content, if it was sent


class _Part(Struct, frozen=True, tag_field="kind", gc=False):
    pass


class TextPart(_Part, frozen=True, tag="text"):
    """Text for a person."""

    payload: TextPayload


class ThinkingPart(_Part, frozen=True, tag="thinking"):
    """The model's reasoning."""

    payload: ThinkingPayload


class ToolCallPart(_Part, frozen=True, tag="tool_call"):
    """A tool call. A message may have several."""

    payload: ToolCallPayload


class ToolResultPart(_Part, frozen=True, tag="tool_result"):
    """The result of one tool call."""

    payload: ToolResultPayload


class ImagePart(_Part, frozen=True, tag="image"):
    """An image."""

    payload: ImagePayload


class FileRefPart(_Part, frozen=True, tag="file_ref"):
    """A file."""

    payload: FileRefPayload


class UnknownPart(Unknown, frozen=True, tag_field="kind", tag="unknown", gc=False):
    """A part of a kind this version does not know. `encode` writes it unchanged."""


MessagePart: TypeAlias = (
    TextPart | ThinkingPart | ToolCallPart | ToolResultPart | ImagePart | FileRefPart | UnknownPart
)


# --- a message --------------------------------------------------------------------------------


class Message(_Wire, frozen=True):
    """One message, or one entry of the log."""

    run_id: str  # `conversation_id:turn_id`
    role: Role
    parts: list[MessagePart]  # in their original order
    timestamp: str  # ISO 8601, UTC
    meta: dict[str, Any] = {}  # see Meta; other keys are allowed


class KeptBlock(_Wire, frozen=True):
    """A block that no part kind can represent, kept unchanged."""

    position: int  # its position among the message's parts and kept blocks together, from 0
    block: Any = None  # a content block
    blob: BlobRef | None = None  # the block as JSON, if it is too large


class TokenUsage(_Wire, frozen=True):
    """The token usage of one model message."""

    input_tokens: int  # tokens read, without those from a cache
    output_tokens: int
    total_tokens: int  # all tokens, including cached ones
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: float | None = None  # US dollars, if the agent gives it


class Meta(_Wire, frozen=True):
    """The defined keys of `Message.meta`."""

    schema_version: int = 0  # of the message's own format; absent means 1
    message_id: str | None = None  # the model message that this is, or is a block of
    turn_id: int | None = None
    index: int | None = None  # an entry's block: its position in the model message
    blocks: list[KeptBlock] | None = None  # blocks that no part kind can represent
    provider: str | None = None  # the agent's name
    parent_tool_use_id: str | None = None  # the tool call that started the speaking sub-agent
    agent_id: str | None = None  # the id of that sub-agent
    uuid: str | None = None  # the agent's own id of the frame
    origin: str | None = None  # the author of a user message: `user`, `synthetic`, ...
    by: str | None = None  # the user who sent it
    client_message_id: str | None = None  # the sender's own id of the message
    steered_as: str | None = None  # it went into the running turn; its id in the queue before
    model_id: str | None = None
    request_id: str | None = None  # the model request, if the agent gives it
    finish_reason: str | None = None  # why the model stopped
    usage: TokenUsage | None = None
    args_not_json: list[str] | None = None  # tool calls whose arguments are in `rawArgsText`
    error: str | None = None  # the API failed and the text says so: `rate_limit`, ...
    aborted: bool = False  # cut off by an interrupt
    incomplete: bool = False  # assembled from a stream without an end
    message_type: EventName | None = None  # the event of a system entry
    data: Any = None  # the data of that event
    unknown_deltas: list[Any] | None = None  # deltas of kinds this version does not know
    extra: dict[str, Any] | None = None  # unknown fields, by JSON pointer; `encode` restores them


# --- roles and runs -------------------------------------------------------------------------------

# Section 3.2 of the contract. A kind from a newer version is not forbidden: it is unknown.
ROLE_PARTS: Mapping[Role, tuple[type[Struct], ...]] = {
    "system": (TextPart, ThinkingPart, UnknownPart),
    "user": (TextPart, ImagePart, FileRefPart, UnknownPart),
    "assistant": (TextPart, ThinkingPart, ToolCallPart, UnknownPart),
    "tool": (ToolResultPart, UnknownPart),
}


def run_id(conversation_id: str, turn_id: int) -> str:
    """Returns the id of a run, that is, of a turn of a conversation."""
    return f"{conversation_id}:{turn_id}"


@lru_cache(maxsize=256)  # called for every entry of a run
def split_run_id(run: str) -> tuple[str, int | None]:
    """Returns the conversation id and turn id of a run. The turn of a foreign run id is None."""
    conversation_id, colon, turn = run.rpartition(":")
    if colon and turn.isascii() and turn.isdigit():
        return conversation_id, int(turn)
    return run, None


# Each field of Meta: its name on the wire, and its default.
_META_FIELDS = {field.name: (field.encode_name, field.default) for field in structs.fields(Meta)}


def meta_of(run: str, **known: Any) -> dict[str, Any]:
    """Returns `Message.meta` with these keys of Meta, and those that every message has.

    Every entry needs one, so for speed no JSON conversion is done. All values except `usage` and
    `blocks` have to be plain JSON values already.
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
    """Returns the defined keys, typed. A key with an invalid value counts as absent."""
    meta = salvage(Meta, message.meta, [])
    assert isinstance(meta, Meta)
    return meta


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Returns the arguments of a tool call; an empty text means none.

    Returns None if not an object.
    """
    if not text:
        return {}
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def to_json(thing: Any) -> Any:
    """Returns plain JSON values of any type in core; msgspec's to_builtins does not support Raw."""
    return msgspec.json.decode(msgspec.json.encode(thing))
