"""Reads a log in pages that are small in entries and in bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import TypeAlias

from turnwire.core.conversation.state import Conversation
from turnwire.core.happenings import EntryAdded, Kept, TurnEnded
from turnwire.long_work import reading
from turnwire.ports import Store, StoredEntry, StoredTurn

__all__ = ["LogItem", "happening_of", "in_log_order", "kept_since", "pages_of"]

LogItem: TypeAlias = StoredEntry | StoredTurn

_ENTRIES = 128
_BYTES = 256 * 1024


def happening_of(item: LogItem) -> Kept:
    """Returns an item of the log as it was published."""
    if isinstance(item, StoredTurn):
        return TurnEnded(item.ended_at, item.turn_id, item.trace_id, item.end)
    return EntryAdded(item.sequence, item.entry, item.trace_id)


async def kept_since(
    store: Store, state: Conversation, after: int
) -> AsyncGenerator[list[Kept], None]:
    """Yields the items of the log after `after`, up to a state, as they were published.

    Skips the end of a turn that still ran in that state: the turn may have ended later, without
    another entry.
    """
    last_turn_id = state.last_turn_id or 0
    async with aclosing(pages_of(store, state.conversation_id, after, state.head)) as pages:
        async for page in pages:
            yield [
                happening_of(item)
                for item in page
                if isinstance(item, StoredEntry) or item.turn_id <= last_turn_id
            ]


async def pages_of(
    store: Store, conversation_id: str, after: int, head: int
) -> AsyncGenerator[list[LogItem], None]:
    """Yields the entries after `after`, up to and with `head`, and the ends of turns.

    The end of a turn comes after its last entry. The first page begins with turns that ended at
    `after`.
    """
    while after < head:
        async with reading():
            entries = await store.entries(
                conversation_id, after=after, before=head + 1, limit=_ENTRIES, size=_BYTES
            )
            if not entries:
                break
            last = entries[-1].sequence
            # Turns that ended at the last entry are at the start of the next page.
            ends = await store.turns(conversation_id, since=after, before=last)
        yield list(in_log_order(entries, ends))
        after = last
    ends = await store.turns(conversation_id, since=after, before=head + 1)
    if ends:
        yield list(ends)


def in_log_order(entries: Sequence[StoredEntry], ends: Iterable[StoredTurn]) -> Iterator[LogItem]:
    """Yields entries and ends of turns in order, each end after the last entry of its turn."""
    waiting = iter(ends)
    end = next(waiting, None)
    for entry in entries:
        while end is not None and end.end.after_sequence < entry.sequence:
            yield end
            end = next(waiting, None)
        yield entry
    while end is not None:
        yield end
        end = next(waiting, None)
