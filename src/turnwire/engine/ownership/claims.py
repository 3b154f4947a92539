"""Claims on conversations: taken for a lease, renewed, and released."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.ownership.owners import has_died, may_live_here
from turnwire.ports import Claim, Clock, Damaged, Owned, StorageUnavailable, Store

__all__ = ["Claims"]


class _Watch:
    """An expired lease, and whether its owner has failed to renew it for a while."""

    def __init__(self, owner: str, until: int) -> None:
        self.lease = owner, until
        self.was_left = False

    def leave(self) -> None:
        self.was_left = True


class Claims:
    """Takes, renews and releases the claims of one owner in the store."""

    def __init__(self, store: Store, clock: Clock, owner: str, lease: int) -> None:
        self.lease = lease  # milliseconds until another owner may take a conversation
        self._store = store
        self._clock = clock
        self._owner = owner
        self._watched: dict[str, _Watch] = {}  # by conversation

    async def take(self, conversation_id: str) -> Claim:
        """Takes a claim; takes it at once from a dead owner of this machine. Raises Owned."""
        await self._see_it_left(conversation_id)
        try:
            return await self._take_as(self._owner, conversation_id, self.lease)
        except Owned as owned:
            dead = owned.data.get("owner")
            if dead is None or not has_died(dead):
                raise
        # Claims in the name of the dead owner, to release its claim.
        await self.release(await self._take_as(dead, conversation_id, 0))
        return await self._take_as(self._owner, conversation_id, self.lease)

    async def _see_it_left(self, conversation_id: str) -> None:
        """Raises Owned until an expired lease has stayed unrenewed for half a lease.

        A lease also expires when the clock is set ahead or the machine sleeps. A live owner renews
        it within a third of a lease.
        """
        with suppress(Damaged):
            row = await self._store.conversation(conversation_id)
            if (
                row is None
                or row.owner is None
                or row.owner == self._owner
                or row.lease_until > self._clock.now()
                or not may_live_here(row.owner)
            ):
                self._watched.pop(conversation_id, None)
                return
            watch = self._watched.get(conversation_id)
            if watch is None or watch.lease != (row.owner, row.lease_until):
                watch = self._watched[conversation_id] = _Watch(row.owner, row.lease_until)
                self._clock.call_after(self.lease // 2, watch.leave)
            if not watch.was_left:
                said = f"The conversation belongs to {row.owner}."
                raise Owned(said, owner=row.owner, lease_until=row.lease_until)
            del self._watched[conversation_id]

    async def _take_as(self, owner: str, conversation_id: str, lease: int) -> Claim:
        reach(CrashPoint.CLAIMS)
        claim = await self._store.claim(conversation_id, owner, now=self._clock.now(), lease=lease)
        reach(CrashPoint.CLAIMED)
        return claim

    async def renew(self, claims: Sequence[Claim]) -> set[Claim]:
        """Renews claims, and returns those that are still valid.

        Raises StorageUnavailable. Claims then stay valid until another owner takes them.
        """
        reach(CrashPoint.RENEWS)
        held = await self._store.renew(claims, now=self._clock.now(), lease=self.lease)
        reach(CrashPoint.RENEWED)
        return set(held)

    async def release(self, claim: Claim) -> None:
        """Releases a claim, so that the next owner need not wait for the end of the lease."""
        with suppress(StorageUnavailable):  # then the lease expires
            reach(CrashPoint.RELEASES)
            await self._store.release(claim)
            reach(CrashPoint.RELEASED)
