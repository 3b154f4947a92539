"""The conversations that this process runs: claimed, recovered, renewed and released."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Protocol

from turnwire.background import BackgroundTasks
from turnwire.core.conversation import step
from turnwire.core.conversation.effects import Tell
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import STATE_LEVEL, needs_recovery
from turnwire.core.error_codes import Refused
from turnwire.core.partials import Partial
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.actor.actor import Actor
from turnwire.engine.fanout.channel import Channel, FollowAgain
from turnwire.engine.fanout.channels import Channels
from turnwire.engine.fanout.remote_follow import catch_up
from turnwire.engine.ownership.claims import CannotClaim, Claims, Draining, NewerState
from turnwire.engine.ownership.drain import Drain
from turnwire.engine.ownership.node import Node
from turnwire.engine.ownership.placement import check_pinned_here
from turnwire.ports import (
    Claim,
    Clock,
    Commit,
    ConversationRow,
    Damaged,
    Fenced,
    Lease,
    Owned,
    StorageUnavailable,
    Store,
)

__all__ = ["STOPPED", "OwnedConversations", "Revive"]

_log = logging.getLogger("turnwire")

STOPPED = partial(FollowAgain, "The server stopped; follow again from your cursor.")
_REPLACED = partial(FollowAgain, "The log was replaced by another one; follow again.")


class Revive(Protocol):
    """Creates the actor of a conversation. Raises Refused if its agent is unavailable."""

    def __call__(
        self,
        row: ConversationRow,
        claim: Claim,
        lease: Lease,
        channel: Channel,
        ended: Callable[[Actor], None],
        partials: list[Partial],
    ) -> Actor: ...


class _Door:
    """A lock, so that only one caller at a time activates a conversation."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


class OwnedConversations:
    """The actors of this process, by conversation. Renews the lease of its node."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        node: Node,
        channels: Channels,
        background: BackgroundTasks,
        revive: Revive,
        claimed: Callable[[str], None],
        left: Callable[[ConversationRow], None],
        *,
        may_be_pinned: bool = False,
    ) -> None:
        """`claimed` is called with each conversation that this process begins to run.

        `left` is called with each conversation that was released with work left in it, because
        this process is about to stop. `may_be_pinned`: some conversations can only be run by
        another node.
        """
        self._may_be_pinned = may_be_pinned
        self._claimed = claimed
        self._left = left
        self.alive: dict[str, Actor] = {}
        self._stopping = False
        self._drain: Drain | None = None
        self.lag_ms = 0  # by which the event loop was late at the last renewal of the lease
        self.store_ms = 0  # that the store took for it
        self._store = store
        self._clock = clock
        self._node = node
        self._lease = self._new_lease()
        self._claims = Claims(store, clock, node)
        self._channels = channels
        self._background = background
        self._revive = revive
        self._doors: dict[str, _Door] = {}
        self._keeper: asyncio.Task[None] | None = None  # renews the lease
        self._epoch = store.epoch
        self._checking: asyncio.Task[None] | None = None  # whether the claims are still valid

    def is_ours(self, conversation_id: str) -> bool:
        """Returns whether this process publishes the conversation, or the log was replaced."""
        return (
            self.notice_epoch() or conversation_id in self.alive or conversation_id in self._doors
        )

    def is_taking(self, conversation_id: str) -> bool:
        """Returns whether the conversation is being activated now."""
        return conversation_id in self._doors

    def check_running(self) -> None:
        """Raises Refused during the shutdown."""
        if self._stopping:
            raise Draining

    @property
    def is_draining(self) -> bool:
        """Whether this process claims no more conversations, because it is about to stop."""
        return self._drain is not None

    async def join(self) -> None:
        """Joins the nodes of the store, and renews the lease from now on."""
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep(), name="turnwire leases")
        await self._join()

    async def drain(self, grace: float) -> None:
        """Releases all conversations; those with a running turn when it ends, within `grace`."""
        if self._drain is None:
            self._drain = Drain(self.alive, self._hand_over, self._background)
        with suppress(StorageUnavailable):
            await self._node.renew()  # the other nodes read that this one drains
        await self._drain.run(grace)

    async def _hand_over(self, actor: Actor) -> None:
        """Ends the agent of a conversation, writes that, and releases the conversation."""
        async with self._door(actor.row.conversation_id):
            await actor.stop()
            await self._claims.release(actor.claim)
        if needs_recovery(actor.state):
            self._left(actor.row)

    async def stop(self) -> None:
        """Ends every agent, releases all claims, and leaves the nodes of the store."""
        self._stopping = True
        if self._drain is not None:
            self._drain.end()
        await asyncio.gather(*(self._hand_over(actor) for actor in list(self.alive.values())))
        self.alive.clear()
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        await self._node.leave()

    # --- activation and release ---------------------------------------------------------------

    async def activate(self, conversation_id: str) -> Actor:
        """Returns the actor; claims and recovers the conversation first. Raises Owned, Refused."""
        await self.check_epoch()
        actor = self.alive.get(conversation_id)
        if actor is not None and not actor.dead and not self._is_leaving(actor):
            return actor
        async with self._door(conversation_id):
            actor = self.alive.get(conversation_id)
            if actor is None or actor.dead:
                if self._drain is not None:
                    raise Draining
                actor = await self._take_over(conversation_id)
        return actor

    def _is_leaving(self, actor: Actor) -> bool:
        return self._drain is not None and self._drain.is_leaving(actor)

    @asynccontextmanager
    async def _door(self, conversation_id: str) -> AsyncIterator[None]:
        """Lets one caller at a time claim a conversation."""
        door = self._doors.setdefault(conversation_id, _Door())
        door.waiting += 1
        try:
            async with door.lock:
                yield
        finally:
            door.waiting -= 1
            if not door.waiting:
                del self._doors[conversation_id]
                self._forget_unless_needed(conversation_id)

    def _forget_unless_needed(self, conversation_id: str) -> None:
        """Drops the channel if its followers left while the conversation was being claimed."""
        channel = self._channels.get(conversation_id)
        if channel is not None and not channel.is_followed and conversation_id not in self.alive:
            self._channels.forget(conversation_id)

    async def wake(self, conversation_id: str) -> Actor:
        """Activates a conversation, and waits until its recovery is committed."""
        actor = await self.activate(conversation_id)
        await actor.settle()
        if actor.dead and not self._stopping:  # another owner had taken it over
            actor = await self.activate(conversation_id)
            await actor.settle()
        return actor

    async def _take_over(self, conversation_id: str) -> Actor:
        if not self._node.has_joined:
            await self.join()
        if self._may_be_pinned:
            await self._check_pinned_here(conversation_id)
        claim = await self._claims.take(conversation_id)
        lease = self._lease
        try:
            row = await self._store.conversation(conversation_id)
        except Damaged:
            await self._claims.release(claim)  # a repair need not wait for the lease
            raise
        if row is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        if row.state.level > STATE_LEVEL:  # written between the check and the claim
            await self._claims.release(claim)
            self._left(row)
            raise NewerState
        partials = await self._saved_partials(row)
        if conversation_id in self.alive:  # the claim was lost: the channel may be out of date
            self._channels.forget(conversation_id)
        self._channels.run_here(conversation_id)
        channel = self._channels.of(row)
        if channel.state.head > row.state.head:  # of a log that is no more
            channel.finish(_REPLACED)
            self._channels.forget(conversation_id)
            channel = self._channels.of(row)
        while channel.is_stale or channel.state != row.state:  # another process has written
            await catch_up(channel, self._store, row, iso(self._clock.now()))
            self._channels.run_here(conversation_id)  # another task may have attached it meanwhile
            channel = self._channels.of(row)
        try:
            self.check_running()
            if self._drain is not None:
                raise Draining
            actor = self._revive(row, claim, lease, channel, self.rest, partials)
        except Refused as refused:
            if not isinstance(refused, CannotClaim):
                # If it fails, the current or the next owner does it.
                with suppress(Fenced, StorageUnavailable):
                    await self._make_true(row, claim, partials)
            await self._claims.release(claim)  # a process with the agent need not wait
            raise
        self.alive[conversation_id] = actor
        self._claimed(conversation_id)
        actor.recover()
        return actor

    async def _check_pinned_here(self, conversation_id: str) -> None:
        """Raises Refused without a claim, unless a dead node has left work to be ended."""
        row = await self._store.conversation(conversation_id)
        if row is not None and not needs_recovery(row.state):
            check_pinned_here(row, self._node.name)

    async def _saved_partials(self, row: ConversationRow) -> list[Partial]:
        """Returns the partials that the last owner had saved. An idle conversation has none."""
        if needs_recovery(row.state) or row.state.voices:
            return await self._store.partials(row.conversation_id)
        return []

    async def _make_true(self, row: ConversationRow, claim: Claim, partials: list[Partial]) -> None:
        """Commits the end of a turn that a dead owner left, while its agent is unavailable."""
        now = self._clock.now()
        back = Recovered(at=now, stopping=True, archived=row.archived, partials=partials)
        state, effects = step(row.state, back)
        if needs_recovery(row.state) and state != row.state:
            writes = [write for write in effects.writes if not isinstance(write, Tell)]
            ended = [partial.block for partial in partials]
            reach(CrashPoint.STEP_MADE)
            commit = Commit(
                *(claim, state, writes, iso(now)),
                happened=True,
                is_news=effects.is_news,
                ended_blocks=ended,
            )
            await self._store.commit(commit)
            reach(CrashPoint.STEP_WRITTEN)

    def rest(self, actor: Actor) -> None:
        """Drops an idle or dead actor from memory, and releases its claim."""
        if self._drain is not None and not actor.dead:
            self._drain.look(actor)
            return
        if not actor.dead and (self._stopping or not actor.is_idle):
            return
        actor.cancel_timers()  # of deadlines, which any process fires
        name = actor.row.conversation_id
        if self.alive.get(name) is actor:
            del self.alive[name]
        channel = self._channels.get(name)
        if channel is actor.channel and (actor.dead or not channel.is_followed):
            channel.finish(STOPPED)
            self._channels.forget(name)
        self._background.run(self._claims.release(actor.claim))
        if self._drain is not None:
            self._drain.look(actor)

    # --- the lease ----------------------------------------------------------------------------

    def _new_lease(self) -> Lease:
        """Returns the lease of an incarnation that has not joined yet."""
        seconds = self._node.lease / 1000
        return Lease(seconds, time.monotonic() - seconds, self._renew)

    async def _join(self) -> None:
        begun, lease = time.monotonic(), self._lease
        await self._node.join()
        lease.renewed(begun)

    async def _keep(self) -> None:
        """Renews the lease at regular intervals."""
        pause = self._node.lease // 4
        while True:
            over, begun = asyncio.Event(), time.monotonic()
            cancel = self._clock.call_after(pause, over.set)
            try:
                await over.wait()
            finally:
                cancel()
            self.lag_ms = max(0, _milliseconds_since(begun) - pause)
            pause = self._node.lease // 20
            try:
                if await self._renew_in_time():
                    pause = self._node.lease // 4
                self.notice_epoch()
            except Exception:  # a defect must not end the renewals
                _log.exception("The lease of this process could not be renewed.")

    async def _renew_in_time(self) -> bool:
        """Renews the lease. If that fails, ends all agents before the lease expires."""
        lease = self._lease
        least = lease.seconds / 10  # the minimum after this process was suspended
        # Not `asyncio.timeout`: after a suspension of this process, it would not see that the
        # store has answered meanwhile.
        renewing = asyncio.create_task(self._renew())
        try:
            is_over, _ = await asyncio.wait(
                [renewing], timeout=max(lease.left - lease.margin, least)
            )
            is_renewed = bool(is_over) and not isinstance(renewing.exception(), StorageUnavailable)
        finally:
            renewing.cancel()
        if is_renewed:
            renewing.result()  # raises other errors
        # Leaves time for another attempt and for the end of the agents.
        elif lease.left < lease.margin * 1.5:
            for name, actor in self.alive.items():
                if actor.lose_agent():
                    _log.warning(
                        "conversation %s: its agent is ended, because the store is unreachable.",
                        name,
                    )
        return is_renewed

    async def _renew(self) -> list[Actor]:
        """Renews the lease, and returns the actors that were lost. Raises StorageUnavailable."""
        ours, begun, lease = list(self.alive.values()), time.monotonic(), self._lease
        if not self._node.has_joined:
            await self._join()
        elif await self._node.renew():
            lease.renewed(begun)
            self.store_ms = _milliseconds_since(begun)
        elif lease is self._lease:
            return await self._begin_again(ours)
        else:  # another call has noticed it, too
            return []
        owned = await self._store.owned(self._node.owner)
        lost = [actor for actor in ours if actor.row.conversation_id not in owned]
        lost = self._lose(lost)
        for actor in ours:  # another node has archived it, and its message may be lost
            if owned.get(actor.row.conversation_id) and not actor.row.archived:
                self._background.run(self._end_archived(actor))
        known = self.alive.keys() | self._doors.keys()
        for name in owned.keys() - known - {actor.row.conversation_id for actor in ours}:
            self._background.run(self._give_back(name))
        return lost

    async def _end_archived(self, actor: Actor) -> None:
        async with self._door(actor.row.conversation_id):
            if self.alive.get(actor.row.conversation_id) is actor and not actor.dead:
                await actor.stop("archived")

    def _lose(self, actors: Sequence[Actor]) -> list[Actor]:
        """Drops actors whose claim another process has taken. Returns those that still lived."""
        lost = [each for each in actors if self.alive.get(each.row.conversation_id) is each]
        for actor in lost:
            actor.lose()
        return lost

    async def _begin_again(self, ours: Sequence[Actor]) -> list[Actor]:
        """Loses all actors, because this node was expelled. Joins as a new one."""
        lost = self._lose(ours)
        if lost:
            _log.warning(
                "This process did not renew its lease in time, and has lost %d conversations.",
                len(lost),
            )
        reach(CrashPoint.EXPELLED)
        self._node.begin_again()
        self._lease = self._new_lease()
        await self._join()
        return lost

    async def _give_back(self, conversation_id: str) -> None:
        """Releases a conversation that this node owns and does not run.

        An answer of the store was lost when it was claimed, or its release has failed.
        """
        with suppress(Owned, Refused, Damaged, StorageUnavailable):
            async with self._door(conversation_id):
                row = await self._store.conversation(conversation_id)
                is_ours = row is not None and row.owner == self._node.owner
                if is_ours and conversation_id not in self.alive and not self._stopping:
                    await self._claims.give_back(conversation_id)

    # --- a replaced log -----------------------------------------------------------------------

    def notice_epoch(self) -> bool:
        """Ends all channels if the log was replaced. Returns whether it was."""
        if self._store.epoch == self._epoch:
            return False
        self._epoch = self._store.epoch
        for channel in self._channels.all():
            channel.finish(_REPLACED)
            if channel.state.conversation_id not in self.alive:
                self._channels.forget(channel.state.conversation_id)
        self._checking = self._background.run(self._let_go())
        return True

    async def _let_go(self) -> None:
        """Drops the actors whose claims are not in the new log."""
        with suppress(StorageUnavailable):  # a claim is valid until another owner takes it
            await asyncio.gather(*(actor.settle() for actor in await self._renew()))
        self._checking = None

    async def check_epoch(self) -> None:
        """Waits until the actors and channels belong to the current log."""
        self.notice_epoch()
        if self._checking is not None:
            await asyncio.shield(self._checking)


def _milliseconds_since(begun: float) -> int:
    return round((time.monotonic() - begun) * 1000)
