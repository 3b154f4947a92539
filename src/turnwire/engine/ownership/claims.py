"""Claims on conversations: taken for a lease, and released."""

from __future__ import annotations

from contextlib import suppress

from turnwire.core.conversation.state import STATE_LEVEL
from turnwire.core.error_codes import Refused
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.ownership.node import Node
from turnwire.engine.ownership.owners import has_died, may_live_here
from turnwire.ports import Claim, Clock, Damaged, Owned, StorageUnavailable, Store

__all__ = ["CannotClaim", "Claims", "Draining", "NewerState"]


class CannotClaim(Refused):
    """This process does not run the conversation. Another one may do so."""

    def __init__(self, message: str) -> None:
        super().__init__("STORAGE_UNAVAILABLE", message)


class Draining(CannotClaim):
    """This process is about to stop, and claims no more conversations."""

    def __init__(self) -> None:
        super().__init__("The server is stopping.")


class NewerState(CannotClaim):
    """A newer version has written the state. This one would drop what it does not know of it."""

    def __init__(self) -> None:
        super().__init__(
            "A newer Turnwire has written this conversation, and no server of that version runs."
        )


class _Watch:
    """A node with an expired lease, and whether it has failed to renew the lease for a while."""

    def __init__(self, renewals: int) -> None:
        self.renewals = renewals
        self.was_left = False

    def leave(self) -> None:
        self.was_left = True


class Claims:
    """Takes and releases the claims of one node in the store."""

    def __init__(self, store: Store, clock: Clock, node: Node) -> None:
        self._store = store
        self._clock = clock
        self._node = node
        self._watched: dict[str, _Watch] = {}  # by owner

    async def take(self, conversation_id: str) -> Claim:
        """Takes a claim; takes it at once from a dead owner of this machine.

        Raises Owned, NewerState.
        """
        left = await self._see_it_left(conversation_id)
        if left is not None:
            reach(CrashPoint.TAKES_OVER)
        try:
            claim = await self._take_as(self._node.owner, conversation_id, self._node.lease)
        except Owned as owned:
            dead = owned.data.get("owner")
            if dead is None or not has_died(dead):
                raise
            left = str(dead)
            reach(CrashPoint.TAKES_OVER)
            # Claims in the name of the dead owner, to release its claim.
            await self.release(await self._take_as(left, conversation_id, 0))
            claim = await self._take_as(self._node.owner, conversation_id, self._node.lease)
        if left is not None:
            reach(CrashPoint.TOOK_OVER)
            self._watched.pop(left, None)
        return claim

    async def _see_it_left(self, conversation_id: str) -> str | None:
        """Raises Owned until an expired lease has stayed unrenewed for half a lease.

        A lease also expires when the clock is set ahead or the machine sleeps. A live node renews
        it within a quarter of a lease. Returns the owner that has left the conversation, if one has.
        """
        with suppress(Damaged):
            row = await self._store.conversation(conversation_id)
            if row is not None and row.state.level > STATE_LEVEL:
                raise NewerState
            if (
                row is None
                or row.owner is None
                or row.owner == self._node.owner
                or row.lease_until > self._clock.now()
            ):
                return None
            if not may_live_here(row.owner):
                return row.owner
            found = [node for node in await self._store.nodes() if node.owner == row.owner]
            if not found:  # it was expelled, or is no node
                return row.owner
            [node] = found
            watch = self._watched.get(node.owner)
            if watch is None or watch.renewals != node.renewals:
                watch = self._watched[node.owner] = _Watch(node.renewals)
                self._clock.call_after(self._node.lease // 2, watch.leave)
            if not watch.was_left:
                said = f"The conversation belongs to {node.owner}."
                raise Owned(said, owner=node.owner, lease_until=row.lease_until)
            return node.owner
        return None

    async def _take_as(self, owner: str, conversation_id: str, lease: int) -> Claim:
        reach(CrashPoint.CLAIMS)
        claim = await self._store.claim(conversation_id, owner, now=self._clock.now(), lease=lease)
        reach(CrashPoint.CLAIMED)
        return claim

    async def give_back(self, conversation_id: str) -> None:
        """Releases a conversation that this node owns without knowing its claim."""
        await self.release(await self._take_as(self._node.owner, conversation_id, 0))

    async def release(self, claim: Claim) -> None:
        """Releases a claim, so that the next owner need not wait for the end of the lease."""
        with suppress(StorageUnavailable):  # then it is given back later
            reach(CrashPoint.RELEASES)
            await self._store.release(claim)
            reach(CrashPoint.RELEASED)
