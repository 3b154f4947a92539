"""Finds messages of people in the log of a conversation, from the newest entry on."""

from __future__ import annotations

from collections.abc import Collection

from turnwire.core.message import known_meta
from turnwire.engine import Talk
from turnwire.ports import StoredEntry
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import MOST_PAGE
from turnwire.server.service import Service

__all__ = ["find_messages"]

_PAGE = 200  # entries that are read at once


async def find_messages(
    service: Service, who: Who, talk: Talk, ids: Collection[str], *, own: bool = False
) -> dict[str, StoredEntry]:
    """Returns the newest entry of each of these messages; those that the log lacks are left out.

    A message is named by its `client_message_id`, or `message-{number}` if it has none. `own`: only
    messages that this user has sent with such an id. To look further than into the newest entries
    counts as a costly request.
    """
    found: dict[str, StoredEntry] = {}
    before = (await service.engine.open(talk.id)).row.head

    async def look() -> int:
        """Looks into one page. Returns the number before it, or 0 if the search has ended."""
        page = await service.store.entries(
            talk.id, before=before + 1, limit=_PAGE, newest=True, size=MOST_PAGE
        )
        for stored in reversed(page):
            meta = known_meta(stored.entry)
            if stored.entry.role != "user" or (own and meta.by != who.name):
                continue
            name = meta.client_message_id or ("" if own else f"message-{stored.sequence}")
            if name in ids:
                found.setdefault(name, stored)
        return page[0].sequence - 1 if page and len(found) < len(ids) else 0

    if before and ids:
        before = await look()
    if before:
        async with service.shares.of(who).costly():
            while before:
                before = await look()
    return found
