"""Finds the blobs that a share link shows."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from contextlib import aclosing

from turnwire.engine.fanout.log_pages import pages_of
from turnwire.long_work import LongWork
from turnwire.ports import Store, StoredEntry
from turnwire.server.access.share_links import ShareLink
from turnwire.server.access.shares import Share
from turnwire.server.shared_frames import shared_blobs

__all__ = ["SharedBlobs"]

_KEPT = 100  # links whose blobs are remembered


class SharedBlobs:
    """The blobs of share links. The log is read once for each link: what it shows never changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._found: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._reading: dict[str, asyncio.Lock] = {}

    async def of(self, link: ShareLink, share: Share) -> frozenset[str]:
        """Returns the ids of all blobs that a link shows. Reading the log counts as costly."""
        found = self._found.get(link.share_id)
        if found is not None:
            return found
        lock = self._reading.setdefault(link.share_id, asyncio.Lock())
        try:
            async with lock:  # a page asks for all of its pictures at once
                found = self._found.get(link.share_id)
                if found is None:
                    async with share.costly():
                        found = await self._read(link)
                    self._found[link.share_id] = found
                    while len(self._found) > _KEPT:
                        self._found.popitem(last=False)
                return found
        finally:
            self._reading.pop(link.share_id, None)

    async def _read(self, link: ShareLink) -> frozenset[str]:
        found: set[str] = set()
        work = LongWork()
        pages = pages_of(self._store, link.conversation_id, 0, link.through)
        async with aclosing(pages):
            async for page in pages:
                for item in page:
                    if work.is_due:
                        await work.give_way()
                    if isinstance(item, StoredEntry):
                        found.update(shared_blobs(item, link.hidden))
        return frozenset(found)
