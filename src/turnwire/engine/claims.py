"""Claims: a conversation is taken for a while, held on to, and given up."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.owners import has_died
from turnwire.ports import Claim, Clock, Owned, StorageUnavailable, Store

__all__ = ["Claims"]


class Claims:
    """What one owner asks of a store's fence."""

    def __init__(self, store: Store, clock: Clock, owner: str, lease: int) -> None:
        self.lease = lease  # milliseconds, until another owner may take it
        self._store = store
        self._clock = clock
        self._owner = owner

    async def take(self, conversation_id: str) -> Claim:
        """Raises Owned. An owner of this machine that has died need not be waited for."""
        try:
            return await self._take_as(self._owner, conversation_id, self.lease)
        except Owned as owned:
            dead = owned.data.get("owner")
            if dead is None or not has_died(dead):
                raise
        # In its name, so that it is let go.
        await self.release(await self._take_as(dead, conversation_id, 0))
        return await self._take_as(self._owner, conversation_id, self.lease)

    async def _take_as(self, owner: str, conversation_id: str, lease: int) -> Claim:
        reach(CrashPoint.CLAIMS)
        claim = await self._store.claim(conversation_id, owner, now=self._clock.now(), lease=lease)
        reach(CrashPoint.CLAIMED)
        return claim

    async def lost(self, claims: Sequence[Claim]) -> list[Claim]:
        """Hold on to them. Returns those that do not hold any more."""
        with suppress(StorageUnavailable):  # a claim holds until another one takes it
            reach(CrashPoint.RENEWS)
            held = set(await self._store.renew(claims, now=self._clock.now(), lease=self.lease))
            reach(CrashPoint.RENEWED)
            return [claim for claim in claims if claim not in held]
        return []

    async def release(self, claim: Claim) -> None:
        """Let go of it, so that the next owner need not wait."""
        with suppress(StorageUnavailable):  # then the lease runs out by itself
            reach(CrashPoint.RELEASES)
            await self._store.release(claim)
            reach(CrashPoint.RELEASED)
