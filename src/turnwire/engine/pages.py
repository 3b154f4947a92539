"""Reads a log page by page; each page is small, in entries and in bytes."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from turnwire.engine.pace import reading
from turnwire.ports import Store, StoredEntry

__all__ = ["pages_of"]

# A thread that decodes a page keeps the interpreter meanwhile: it has to be done with it soon.
_ENTRIES = 128
_BYTES = 256 * 1024


async def pages_of(
    store: Store, conversation_id: str, after: int, head: int
) -> AsyncGenerator[list[StoredEntry], None]:
    """All entries behind `after`, up to and with `head`."""
    while after < head:
        async with reading():
            page = await store.entries(
                conversation_id, after=after, before=head + 1, limit=_ENTRIES, size=_BYTES
            )
        if not page:
            return
        yield page
        after = page[-1].sequence
