"""The JSON lines format of a conversation, used by `export`, `import` and `show --json`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta, Raw, Struct

from turnwire.core.message import to_json
from turnwire.core.message_codec import decode_message, encode
from turnwire.core.status import Totals, TurnEnd
from turnwire.dialects.v2.entry_frames import frame_of
from turnwire.dialects.v2.frames import AssistantComplete, Frame
from turnwire.engine.fanout.log_pages import LogItem, pages_of
from turnwire.long_work import LongWork
from turnwire.ports import ConversationRow, Store, StoredEntry, StoredTurn

__all__ = [
    "BlobLine",
    "EndLine",
    "EntryLine",
    "HeadLine",
    "Line",
    "TurnLine",
    "as_frame",
    "as_line",
    "blobs_in",
    "entry_of",
    "head_of",
    "lines_of",
    "read_line",
    "told",
]

VERSION = 1

_Number: TypeAlias = Annotated[int, Meta(ge=0, lt=1 << 53)]
_Name: TypeAlias = Annotated[str, Meta(min_length=1)]
_Time: TypeAlias = Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]


class _Line(Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    pass


class HeadLine(_Line, frozen=True, tag="conversation"):
    """The first line: the conversation and its settings."""

    version: int  # version of this format
    conversation_id: _Name
    agent: _Name
    created_at: _Time  # ISO 8601, UTC
    updated_at: _Time
    state: str  # a RunState
    title: str | None = None
    cwd: str | None = None
    model: str | None = None
    permission_mode: str | None = None
    options: dict[str, Any] = {}  # options of the agent
    rules: dict[str, Any] = {}  # options of the conversation
    totals: Totals = Totals()
    max_thinking_tokens: int | None = None
    mcp_off: list[str] = []  # MCP servers that were switched off


class EntryLine(_Line, frozen=True, tag="entry"):
    """An entry of the log."""

    sequence: _Number
    message: Raw  # as in the documentation of messages
    turn_id: _Number | None = None
    trace_id: str | None = None


class TurnLine(_Line, frozen=True, tag="turn"):
    """The end of a turn, after its last entry."""

    turn_id: _Number
    trace_id: str
    ended_at: _Time
    end: TurnEnd


class BlobLine(_Line, frozen=True, tag="blob"):
    """A blob, before the entry that refers to it."""

    blob_id: str
    mime_type: str
    data: bytes  # in base64


class EndLine(_Line, frozen=True, tag="end"):
    """The last line. A file without it is incomplete."""

    entries: int
    turns: int


Line: TypeAlias = HeadLine | EntryLine | TurnLine | BlobLine | EndLine
_read = msgspec.json.Decoder(Line).decode


def read_line(raw: bytes) -> Line:
    """Returns a line of a file. Raises msgspec.DecodeError or msgspec.ValidationError."""
    line: Line = _read(raw)
    return line


def head_of(row: ConversationRow) -> HeadLine:
    """Returns the first line of a conversation."""
    state, handover = row.state, row.state.handover
    is_first = handover is None or handover.first == row.agent  # whose options these are
    return HeadLine(
        VERSION,
        row.conversation_id,
        row.agent,
        row.created_at,
        row.updated_at,
        state.state,
        row.title,
        row.cwd,
        state.model,
        state.permission_mode,
        row.options if is_first else {},
        msgspec.to_builtins(state.options),
        state.totals,
        state.max_thinking_tokens,
        state.mcp_off,
    )


async def told(
    store: Store, row: ConversationRow, tail: int | None = None
) -> AsyncIterator[LogItem]:
    """Yields the log in order, with the ends of turns. `tail` limits it to the newest entries."""
    after = max(row.head - tail, 0) if tail is not None else 0
    work = LongWork()
    async with aclosing(pages_of(store, row.conversation_id, after, row.head)) as pages:
        async for page in pages:
            for item in page:
                if work.is_due:  # the caller encodes each item
                    await work.give_way()
                yield item


async def lines_of(store: Store, row: ConversationRow) -> AsyncIterator[Line]:
    """Yields all lines of a file. A blob comes once, before the first entry that refers to it."""
    yield head_of(row)
    turns = 0
    kept: set[str] = set()
    async for item in told(store, row):
        if isinstance(item, StoredTurn):
            turns += 1
        else:
            for blob_id in blobs_in(to_json(item.entry)):
                found = None if blob_id in kept else await store.get_blob(blob_id)
                if found is not None:
                    kept.add(blob_id)
                    yield BlobLine(blob_id, found[1], found[0])
        yield as_line(item)
    yield EndLine(row.head, turns)


def as_line(item: LogItem) -> Line:
    """Returns an item of the log as a line of the file."""
    if isinstance(item, StoredTurn):
        return TurnLine(item.turn_id, item.trace_id, item.ended_at, item.end)
    return EntryLine(item.sequence, Raw(encode(item.entry)), item.turn_id, item.trace_id)


def as_frame(item: LogItem, conversation_id: str) -> Frame:
    """Returns an item of the log as the frame that a client gets."""
    if isinstance(item, StoredTurn):
        ids = (conversation_id, item.turn_id, None, item.ended_at, item.trace_id)
        return AssistantComplete(*ids, item.end)
    return frame_of(item.entry, item.sequence, conversation_id, item.trace_id)


def entry_of(line: EntryLine) -> StoredEntry:
    """Returns the entry of a line, the inverse of `as_line`. Raises ValueError if it is invalid."""
    message = decode_message(bytes(line.message))
    msgspec.convert(message.timestamp, _Time)
    return StoredEntry(line.sequence, message, line.turn_id, line.trace_id)


def blobs_in(value: Any) -> Iterator[str]:
    """Yields the ids of all blobs that a message refers to, at any depth."""
    match value:
        case {"blobId": str(blob_id)}:
            yield blob_id
        case dict():
            for inner in value.values():
                yield from blobs_in(inner)
        case list():
            for inner in value:
                yield from blobs_in(inner)
        case _:
            pass
