"""Messages, their parts and their deltas: what a model says, as it streams and as it is kept.

A delta stream (one for each model message) is put together by `turnwire.core.assembler`. A log entry is
a Message as well: user input with all its parts, and one entry for every other block. Entries of one
model message share `meta.messageId`; `group` makes the whole message of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from turnwire.core.lenient import Unknown, salvage

__all__ = [
    "ROLE_PARTS",
    "SCHEMA_VERSION",
    "BlobRef",
    "DoneDelta",
    "DoneDeltaPayload",
    "ErrorDelta",
    "ErrorDeltaPayload",
    "EventName",
    "FileRefPart",
    "FileRefPayload",
    "ImagePart",
    "ImagePayload",
    "KeptBlock",
    "Message",
    "MessageDelta",
    "MessagePart",
    "Meta",
    "Role",
    "StartDelta",
    "StartDeltaPayload",
    "TextDelta",
    "TextDeltaPayload",
    "TextPart",
    "TextPayload",
    "ThinkingDelta",
    "ThinkingDeltaPayload",
    "ThinkingPart",
    "ThinkingPayload",
    "TokenUsage",
    "ToolCallArgsDelta",
    "ToolCallArgsDeltaPayload",
    "ToolCallEndDelta",
    "ToolCallEndDeltaPayload",
    "ToolCallPart",
    "ToolCallPayload",
    "ToolCallStartDelta",
    "ToolCallStartDeltaPayload",
    "ToolResultPart",
    "ToolResultPayload",
    "UnknownDelta",
    "UnknownPart",
    "UsageDelta",
    "UsageDeltaPayload",
    "contents",
    "group",
    "in_order",
    "kept",
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
    "permission_request", "request_resolved", "interrupted", "rewind", "system"
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


# --- as it streams ----------------------------------------------------------------------------


class _DeltaPayload(_Wire, frozen=True, kw_only=True):
    """What every payload may carry."""

    message_id: str | None = None  # the model message; ours always say it
    extra: dict[str, Any] | None = None  # unknown fields, by JSON pointer; `encode` puts them back


class StartDeltaPayload(_DeltaPayload, frozen=True):
    """The model begins a message."""

    model_id: str | None  # null where the agent does not say
    request_id: str | None  # null where the agent does not say
    provider: str | None = None
    parent_tool_use_id: str | None = None  # the tool call whose sub-agent speaks
    agent_id: str | None = None  # that sub-agent's id


class TextDeltaPayload(_DeltaPayload, frozen=True):
    """More text."""

    text_delta: str
    index: int | None = None  # the block; without it neighbours of one kind are one part
    citations: list[Any] | None = None  # more sources


class ThinkingDeltaPayload(_DeltaPayload, frozen=True):
    """More reasoning."""

    text_delta: str
    index: int | None = None  # the block; without it neighbours of one kind are one part
    signature: str | None = None  # said once, when the block ends
    redacted: str | None = None


class ToolCallStartDeltaPayload(_DeltaPayload, frozen=True):
    """A tool call begins."""

    tool_call_id: str
    tool_name: str
    index: int | None = None  # the block
    tool_type: str | None = None


class ToolCallArgsDeltaPayload(_DeltaPayload, frozen=True):
    """More of a tool call's arguments, as JSON text."""

    tool_call_id: str
    args_text_delta: str


class ToolCallEndDeltaPayload(_DeltaPayload, frozen=True):
    """A tool call is complete: its arguments can be parsed."""

    tool_call_id: str
    arguments: dict[str, Any] | None = None  # where the agent changed what the model wrote


class UsageDeltaPayload(_DeltaPayload, frozen=True):
    """What the message consumed, once and whole."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost: float | None = None


class DoneDeltaPayload(_DeltaPayload, frozen=True):
    """The message is complete."""

    finish_reason: str  # `unknown` where the agent does not say
    blocks: list[KeptBlock] | None = (
        None  # what no delta kind fits; `position` is the block's index
    )
    discarded_from: int | None = None  # the blocks from this index on are void
    error: str | None = None  # the API failed and the message's words say so
    aborted: bool = False  # cut short


class ErrorDeltaPayload(_DeltaPayload, frozen=True):
    """The message came to nothing."""

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
    """What every delta may carry."""

    provider_raw: Raw | UnsetType = UNSET  # for debugging; nothing depends on it


class _Delta(_Traced, frozen=True):
    """What every delta carries."""

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
    """Tokens."""

    payload: UsageDeltaPayload


class DoneDelta(_Delta, frozen=True, tag="done"):
    """The last delta of a stream that gives a message."""

    payload: DoneDeltaPayload


class ErrorDelta(_Delta, frozen=True, tag="error"):
    """The last delta of a stream that gives none."""

    payload: ErrorDeltaPayload


class UnknownDelta(Unknown, frozen=True, tag_field="kind", tag="unknown", gc=False):
    """A delta of a kind this version does not know. `encode` writes it as it came."""


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


# --- entries and whole messages ---------------------------------------------------------------


def contents(message: Message) -> list[MessagePart | KeptBlock]:
    """Everything in a message, in order: its parts, and its kept blocks at their positions."""
    return in_order(message.parts, known_meta(message).blocks)


def in_order(
    parts: list[MessagePart], blocks: list[KeptBlock] | None
) -> list[MessagePart | KeptBlock]:
    """Parts, and kept blocks at their positions."""
    whole: list[MessagePart | KeptBlock] = [*parts]
    for block in sorted(blocks or (), key=lambda kept: kept.position):
        whole.insert(block.position, block)
    return whole


def group(entries: Iterable[Message]) -> list[Message]:
    """Entries as whole messages: those of one model message become one, where its first one is."""
    groups: dict[Any, list[Message]] = {}
    for number, entry in enumerate(entries):
        name = entry.meta.get("messageId")
        is_block = entry.role == "assistant" and isinstance(name, str)
        groups.setdefault((entry.run_id, name) if is_block else number, []).append(entry)
    return [
        _whole(members) if isinstance(key, tuple) else members[0] for key, members in groups.items()
    ]


def _whole(entries: list[Message]) -> Message:
    entries.sort(key=lambda entry: known_meta(entry).index or 0)  # stable: else as they came
    parts, rest = kept(item for entry in entries for item in contents(entry))
    meta: dict[str, Any] = {}
    broken: list[str] = []
    extra: dict[str, Any] = {}
    before = 0
    for entry in entries:
        known = known_meta(entry)
        meta |= entry.meta
        broken += known.args_not_json or ()
        for pointer, lost in (known.extra or {}).items():
            extra[_moved(pointer, before)] = lost
        before += len(entry.parts)
    for key in ("index", "uuid", "blocks", "extra"):  # those of single entries
        meta.pop(key, None)
    if rest:
        meta["blocks"] = to_json(rest)
    if broken:
        meta["argsNotJson"] = broken
    if extra:
        meta["extra"] = extra
    latest = max(entry.timestamp for entry in entries)
    return Message(entries[0].run_id, "assistant", parts, latest, meta)


def _moved(pointer: str, by: int) -> str:
    """A pointer into an entry, for the whole message in which its parts stand further down."""
    match pointer.split("/"):
        case ["", "parts", number, *rest] if number.isdecimal():
            return "/".join(["", "parts", str(int(number) + by), *rest])
        case _:
            return pointer


def kept(
    whole: Iterable[MessagePart | KeptBlock],
) -> tuple[list[MessagePart], list[KeptBlock]]:
    """The opposite of `contents`: parts, and kept blocks that know their positions."""
    parts: list[MessagePart] = []
    rest: list[KeptBlock] = []
    for position, item in enumerate(whole):
        if isinstance(item, KeptBlock):
            rest.append(structs.replace(item, position=position))
        else:
            parts.append(item)
    return parts, rest
