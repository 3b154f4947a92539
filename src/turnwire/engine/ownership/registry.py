"""The conversations that this process runs: claimed, recovered, renewed and released."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Protocol

from turnwire.background import BackgroundTasks
from turnwire.core.conversation import step
from turnwire.core.conversation.effects import Tell
from turnwire.core.conversation.inputs import Recovered
from turnwire.core.conversation.state import needs_recovery
from turnwire.core.error_codes import Refused
from turnwire.core.partials import Partial
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.actor.actor import Actor
from turnwire.engine.fanout.channel import Channel, FollowAgain
from turnwire.engine.fanout.channels import Channels
from turnwire.engine.fanout.remote_follow import catch_up
from turnwire.engine.ownership.claims import Claims
from turnwire.ports import (
    Claim,
    Clock,
    Commit,
    ConversationRow,
    Damaged,
    Fenced,
    Lease,
    StorageUnavailable,
    Store,
)

__all__ = ["STOPPED", "Ownership", "Revive"]

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


class Ownership:
    """The actors of this process, by conversation. Renews the claim of each."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        claims: Claims,
        channels: Channels,
        background: BackgroundTasks,
        revive: Revive,
    ) -> None:
        self.alive: dict[str, Actor] = {}
        self._stopping = False
        self._store = store
        self._clock = clock
        self._claims = claims
        self._channels = channels
        self._background = background
        self._revive = revive
        self._doors: dict[str, _Door] = {}
        self._keeper: asyncio.Task[None] | None = None
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
            raise Refused("STORAGE_UNAVAILABLE", "The server is stopping.")

    async def stop(self) -> None:
        """Ends every agent, and releases all claims."""
        self._stopping = True
        await asyncio.gather(*(actor.stop() for actor in list(self.alive.values())))
        for actor in list(self.alive.values()):
            await self._claims.release(actor.claim)
        self.alive.clear()
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper

    # --- activation and release ---------------------------------------------------------------

    async def activate(self, conversation_id: str) -> Actor:
        """Returns the actor; claims and recovers the conversation first. Raises Owned, Refused."""
        await self.check_epoch()
        actor = self.alive.get(conversation_id)
        if actor is not None and not actor.dead:
            return actor
        door = self._doors.setdefault(conversation_id, _Door())
        door.waiting += 1
        try:
            async with door.lock:
                actor = self.alive.get(conversation_id)
                if actor is None or actor.dead:
                    actor = await self._take_over(conversation_id)
        finally:
            door.waiting -= 1
            if not door.waiting:
                del self._doors[conversation_id]
                self._forget_unless_needed(conversation_id)
        return actor

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
        begun = time.monotonic()
        claim = await self._claims.take(conversation_id)
        lease = Lease(self._claims.lease / 1000, begun, self._renew)
        try:
            row = await self._store.conversation(conversation_id)
        except Damaged:
            await self._claims.release(claim)  # a repair need not wait for the lease
            raise
        if row is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        partials = await self._saved_partials(row)
        if conversation_id in self.alive:  # the claim was lost: the channel may be out of date
            self._channels.forget(conversation_id)
        channel = self._channels.of(row)
        while channel.state != row.state:  # another process has written meanwhile
            await catch_up(channel, self._store, row, iso(self._clock.now()))
        try:
            self.check_running()
            actor = self._revive(row, claim, lease, channel, self.rest, partials)
        except Refused:
            if not self._stopping:
                # If it fails, the current or the next owner does it.
                with suppress(Fenced, StorageUnavailable):
                    await self._make_true(row, claim, partials)
            await self._claims.release(claim)  # a process with the agent need not wait
            raise
        self.alive[conversation_id] = actor
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep(), name="turnwire leases")
        actor.recover()
        return actor

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
        if not actor.dead and (self._stopping or not actor.is_idle):
            return
        name = actor.row.conversation_id
        if self.alive.get(name) is actor:
            del self.alive[name]
        channel = self._channels.get(name)
        if channel is actor.channel and (actor.dead or not channel.is_followed):
            channel.finish(STOPPED)
            self._channels.forget(name)
        self._background.run(self._claims.release(actor.claim))

    # --- leases -------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Renews all leases at regular intervals, while there are any."""
        pause = self._claims.lease // 4
        while self.alive:
            over = asyncio.Event()
            cancel = self._clock.call_after(pause, over.set)
            try:
                await over.wait()
            finally:
                cancel()
            pause = self._claims.lease // 20
            try:
                if await self._renew_in_time():
                    pause = self._claims.lease // 4
                self.notice_epoch()
            except Exception:  # a defect must not end the renewals of all conversations
                _log.exception("The leases could not be renewed.")
        self._keeper = None

    async def _renew_in_time(self) -> bool:
        """Renews all leases. If that fails, ends the agents before their leases expire."""
        leases = [actor.lease for actor in self.alive.values()]
        time_left = min((each.left - each.margin for each in leases), default=0.0)
        least = self._claims.lease / 10_000  # seconds; the minimum after this process was suspended
        # Not `asyncio.timeout`: after a suspension of this process, it would not see that the
        # store has answered meanwhile.
        renewing = asyncio.create_task(self._renew())
        try:
            is_over, _ = await asyncio.wait([renewing], timeout=max(time_left, least))
            is_renewed = bool(is_over) and not isinstance(renewing.exception(), StorageUnavailable)
        finally:
            renewing.cancel()
        if is_renewed:
            renewing.result()  # raises other errors
        else:
            for name, actor in self.alive.items():
                # Leaves time for another attempt and for the end of the agent.
                if actor.lease.left < actor.lease.margin * 1.5 and actor.lose_agent():
                    _log.warning(
                        "conversation %s: its agent is ended, because the store is unreachable.",
                        name,
                    )
        return is_renewed

    async def _renew(self) -> list[Actor]:
        """Renews all leases and returns the actors that lost theirs. Raises StorageUnavailable."""
        ours = {actor.claim: actor for actor in self.alive.values()}
        begun = time.monotonic()
        held = await self._claims.renew(list(ours))
        lost = []
        for claim, actor in ours.items():
            if claim in held:
                actor.lease.renewed(begun)
            elif self.alive.get(claim.conversation_id) is actor:
                lost.append(actor)
                actor.lose()
        return lost

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
