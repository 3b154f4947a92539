"""What the imports of all agents' own sessions have in common: names, claims and results."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256

from msgspec import Struct

from turnwire.core.conversation.state import needs_recovery
from turnwire.ports import Claim, ConversationRow, Owned, Store

__all__ = ["PAGE", "Brought", "NotNow", "claimed", "now_ms", "short_id"]

_LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"  # without letters and digits that look alike
_LEASE = 600_000  # milliseconds
PAGE = 500  # entries of the log that are read at once


class Brought(Struct, frozen=True):
    """The result of importing one session."""

    conversation_id: str
    session_id: str
    entries: int  # number of new entries
    is_new: bool = False
    title: str | None = None
    refused: str | None = None  # why the conversation was not changed
    reset: list[str] = []  # fields of the session that the conversation did not get


class NotNow(Exception):
    """The conversation cannot be changed now. The message says why, and when to try again."""


def short_id(key: str) -> str:
    """Returns the conversation id for a key: always the same, and short enough to type."""
    number = int.from_bytes(sha256(key.encode()).digest())
    letters = []
    for _ in range(10):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return "".join(letters)


@asynccontextmanager
async def claimed(
    store: Store,
    row: ConversationRow,
    owner: str,
    has_died: Callable[[str], bool],
    *,
    is_new: bool,
) -> AsyncIterator[tuple[Claim, ConversationRow]]:
    """Claims a conversation for an import. Yields the claim, and the conversation as it is now.

    Deletes a new conversation if the import does not complete. `has_died` says whether an owner has
    surely ended, so that its lease can be released. Raises NotNow.
    """
    name = row.conversation_id
    try:
        claim = await _claim(store, name, owner, has_died)
    except Owned:
        raise NotNow("another process runs it; import again when it has ended") from None
    is_done = False
    try:
        row = await store.conversation(name) or row  # only this process can change it now
        if row.state.turn is not None or row.state.queue or needs_recovery(row.state):
            raise NotNow("a turn or message is open; import again when it has ended")
        yield claim, row
        is_done = True
    finally:
        await store.release(claim)
        if is_new and not is_done:  # interrupted, as by Ctrl-C: a partial import is useless
            await store.delete(name)


async def _claim(store: Store, name: str, owner: str, has_died: Callable[[str], bool]) -> Claim:
    try:
        return await store.claim(name, owner, now=now_ms(), lease=_LEASE)
    except Owned as owned:
        before = str(owned.data.get("owner"))
        if not has_died(before):
            raise
        # Claims in the name of the dead owner, to release its lease.
        await store.release(await store.claim(name, before, now=now_ms(), lease=0))
    return await store.claim(name, owner, now=now_ms(), lease=_LEASE)


def now_ms() -> int:
    """Returns the time in milliseconds."""
    return time.time_ns() // 1_000_000
