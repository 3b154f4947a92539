"""Copies a store into another one, row by row: from SQLite to PostgreSQL, back, and as a backup.

Each conversation is copied in one transaction, so a copy that was interrupted goes on with the
conversations that are missing. Owners are not copied: a copy is a log of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct

from turnwire.errors import TurnwireError

__all__ = [
    "COMMON",
    "COPIED",
    "COPYING",
    "OF_CONVERSATION",
    "Copied",
    "CopyFailed",
    "Progress",
    "Tables",
    "copy_store",
]

Rows: TypeAlias = list[tuple[Any, ...]]


class TableShape(Struct, frozen=True):
    """The columns of a table that are copied, and the order of its rows."""

    columns: tuple[str, ...]
    order: tuple[str, ...]


def _shape(columns: str, order: str) -> TableShape:
    return TableShape(tuple(columns.split()), tuple(order.split()))


# A claim of the original is void in the copy: the fences of the copy are higher.
CONVERSATION = _shape(
    "conversation_id agent user title cwd native_session_id options archived pinned labels"
    " parent_id forked_at native_from owns_session node created_at updated_at head fence unsettled"
    " activity state_json",
    "conversation_id",
)
# Everything else that belongs to a conversation.
OF_CONVERSATION = {
    "messages": _shape(
        "number conversation_id sequence_num role message_type message_json metadata_json uuid"
        " turn_id trace_id created_at",
        "sequence_num",
    ),
    "turns": _shape(
        "conversation_id turn_id trace_id origin queue_id client_message_id started_at ended_at"
        " end_json after_sequence input_tokens output_tokens cache_creation_input_tokens"
        " cache_read_input_tokens cost_usd duration_ms",
        "turn_id",
    ),
    "requests": _shape(
        "conversation_id request_id kind request_json opened_at deadline_at outcome ended_at"
        " ended_by",
        "request_id",
    ),
    "inbox_items": _shape(
        "source_id inbox_item_id kind conversation_id request_id created_at closed_at", "source_id"
    ),
    "rules": _shape("conversation_id rule_id rule_json given_at", "rule_id"),
    "receipts": _shape(
        "conversation_id user client_message_id body ack_json created_at", "user client_message_id"
    ),
    "partials": _shape(
        "conversation_id place start message_id block_index kind text parent_tool_use_id agent_id"
        " provider model",
        "place start",
    ),
    "blob_uses": _shape("conversation_id blob_id", "blob_id"),
    "session_pieces": _shape("number conversation_id session_id name data", "number"),
    "set_aside": _shape("conversation_id place at content", "at place content"),
}
# What belongs to no conversation, or outlives it.
COMMON = {
    "blobs": _shape("blob_id mime_type data created_at user conversation_id sha256", "blob_id"),
    "audit": _shape("number at action conversation_id by trace_id data_json", "number"),
    "ledger": _shape("number at conversation_id user turn_id cost_usd", "number"),
    "tokens": _shape(
        "token_id digest name kind user created_at expires_at revoked_at", "created_at token_id"
    ),
}
# Names in the table `meta` of a copy. The value is the epoch of the original.
COPYING = "copy_of"  # while the copy is made
COPIED = "copied_from"  # when it is complete
_FENCE = CONVERSATION.columns.index("fence")
_JUMP = 1 << 32  # more claims than the original will ever have


class CopyFailed(TurnwireError):
    """A copy cannot be made, or is not equal to the original. The message says what to do."""


class Progress(Struct, frozen=True):
    """How far a copy is."""

    step: str  # `blobs`, `conversations`, `audit`, `check`, ...
    done: int
    total: int


class Copied(Struct, frozen=True):
    """What was copied."""

    conversations: int
    skipped: int  # of an earlier copy that was interrupted
    messages: int
    epoch: str  # of the copy


class Tables(Protocol):
    """The tables of a store, as of one moment, to be read; or to be filled."""

    async def epoch(self) -> str:
        """Returns the epoch of the log."""

    async def begin_copy(self, of: str) -> bool:
        """Marks the store as the copy of another one. Raises CopyFailed if it has other data.

        Returns whether an earlier copy of the same store was completed.
        """

    async def end_copy(self) -> str:
        """Completes the search index and the counters, notes the end, returns the epoch."""

    async def names(self) -> list[str]:
        """Returns the conversations in the order of their creation."""

    async def conversation(self, name: str) -> tuple[Any, ...] | None:
        """Returns the row of a conversation."""

    async def count(self, table: str) -> int:
        """Returns the number of rows of a common table."""

    def rows(self, table: str, name: str | None = None) -> AsyncIterator[Rows]:
        """Returns the rows of a table, of one conversation or of all, in order, a few at a time."""

    async def add_conversation(
        self, row: tuple[Any, ...], parts: AsyncIterator[tuple[str, Rows]]
    ) -> None:
        """Adds a conversation and everything that belongs to it, in one transaction."""

    async def add_common(self, table: str, rows: Rows) -> None:
        """Adds rows to a common table. Rows that are there already are left as they are."""


def _silent(progress: Progress) -> None:
    """Reports to no one."""


async def copy_store(
    source: Tables, target: Tables, progress: Callable[[Progress], None] = _silent
) -> Copied:
    """Copies everything, then reads both again and compares them. Raises CopyFailed."""
    if await target.begin_copy(await source.epoch()):
        return await _compare_again(source, target, progress)
    for table in COMMON:
        total, done = await source.count(table), 0
        progress(Progress(table, 0, total))
        async for rows in source.rows(table):
            await target.add_common(table, rows)
            done += len(rows)
            progress(Progress(table, done, total))
    names = await source.names()
    there = set(await target.names())
    skipped = messages = 0
    for number, name in enumerate(names):
        progress(Progress("conversations", number, len(names)))
        row = await source.conversation(name)
        assert row is not None
        if name in there:
            skipped += 1
            continue
        counter = _Counter()
        await target.add_conversation(_disowned(row), _parts(source, name, counter))
        messages += counter.messages
    await _check(source, target, names, progress)
    return Copied(len(names) - skipped, skipped, messages, await target.end_copy())


async def _compare_again(
    source: Tables, target: Tables, progress: Callable[[Progress], None]
) -> Copied:
    """Compares a copy that was completed before: its command may have been killed at the end."""
    names = await source.names()
    try:
        await _check(source, target, names, progress)
    except CopyFailed as different:
        raise CopyFailed(
            "The store has a copy of this one already, and one of them has changed since. Copy into a"
            " new, empty store."
        ) from different
    return Copied(0, len(names), 0, await target.epoch())


class _Counter:
    def __init__(self) -> None:
        self.messages = 0


async def _parts(source: Tables, name: str, counter: _Counter) -> AsyncIterator[tuple[str, Rows]]:
    for table in OF_CONVERSATION:
        async for rows in source.rows(table, name):
            if table == "messages":
                counter.messages += len(rows)
            yield table, rows


def _disowned(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*row[:_FENCE], row[_FENCE] + _JUMP, *row[_FENCE + 1 :])


async def _check(
    source: Tables, target: Tables, names: Sequence[str], progress: Callable[[Progress], None]
) -> None:
    """Compares both stores. Raises CopyFailed, with the place of the first difference."""
    total = len(names) + len(COMMON)
    for number, table in enumerate(COMMON):
        progress(Progress("check", number, total))
        if await _digest(source, table) != await _digest(target, table):
            raise _different(table)
    for number, name in enumerate(names, len(COMMON)):
        progress(Progress("check", number, total))
        row, copy = await source.conversation(name), await target.conversation(name)
        if row is None or copy is None or _digest_of([_disowned(row)]) != _digest_of([copy]):
            raise _different(f"conversation {name}")
        for table in OF_CONVERSATION:
            if await _digest(source, table, name) != await _digest(target, table, name):
                raise _different(f"conversation {name}, {table}")
    progress(Progress("check", total, total))


def _different(where: str) -> CopyFailed:
    return CopyFailed(
        f"The copy is not equal to the original: {where}. A store that is copied must not be in use,"
        " and the copy must not have other data. Copy into a new, empty store."
    )


async def _digest(tables: Tables, table: str, name: str | None = None) -> bytes:
    found = hashlib.sha256()
    async for rows in tables.rows(table, name):
        for row in rows:
            found.update(_digest_of([row]))
    return found.digest()


def _digest_of(rows: Rows) -> bytes:
    """Returns a digest in which numbers, flags, text and bytes are the same in every store."""
    return hashlib.sha256(
        repr([[int(v) if isinstance(v, bool) else v for v in row] for row in rows]).encode(
            "utf-8", "surrogatepass"
        )
    ).digest()
