"""Many conversations on one store: they come to life when something happens, and go again."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing, suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from turnwire.bus.local import LocalBus
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.budget import UserBudget, period_of
from turnwire.core.conversation.state import Options, Turn, status_of
from turnwire.core.error_codes import Refused
from turnwire.core.status import Outcome, Status
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.dialects.v2 import payloads as p
from turnwire.engine.asks import Answer, Ask
from turnwire.engine.channel import Channel, FollowAgain, Sent, Spoken, Subscriber
from turnwire.engine.clock import SystemClock
from turnwire.engine.connections import Connections
from turnwire.engine.conversations import Conversations
from turnwire.engine.elsewhere import Elsewhere, catch_up
from turnwire.engine.follow import Place, follow, open_at
from turnwire.engine.known_agents import KnownAgents
from turnwire.engine.live import Live
from turnwire.engine.owners import has_died, owner_name
from turnwire.engine.replays import Replays
from turnwire.engine.seen import as_it_is
from turnwire.engine.settings import EngineSettings
from turnwire.engine.talk import Talk
from turnwire.ports import (
    Agent,
    AgentCapabilities,
    Bus,
    Claim,
    Clock,
    ConversationRow,
    Damaged,
    NewConversation,
    Owned,
    StorageUnavailable,
    Store,
    Timer,
)

__all__ = ["Engine", "EngineSettings"]

_log = logging.getLogger("turnwire")
_STOPPED = partial(FollowAgain, "The server stopped; follow again from your place.")

_TOGETHER = 100  # conversations that are looked after at once, when an engine starts


class _Door:
    """Those who want the same conversation go through one after the other."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


class Engine:
    """Conversations of any number of agents, on one store.

    async with Engine(store, {"demo": DemoAgent()}) as engine:
        talk = await engine.create("demo")
        await talk.send("Hello")
    """

    def __init__(
        self,
        store: Store,
        agents: Mapping[str, Agent],
        *,
        settings: EngineSettings | None = None,
        clock: Clock | None = None,
        bus: Bus | None = None,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        self.store = store
        self.agents = agents
        self.settings = settings or EngineSettings()
        self.clock = clock or SystemClock()
        self.bus = bus or LocalBus()
        self.new_id = new_id or (lambda: uuid.uuid4().hex)
        self.owner = owner_name(self.new_id()[:8])
        self._agents = KnownAgents(agents)
        self._conversations = Conversations(store, self._agents, self.clock, self.new_id)
        self._replays = Replays(store, self.clock)
        self._live: dict[str, Live] = {}
        self._channels: dict[str, Channel] = {}
        self._elsewhere: dict[str, Elsewhere] = {}
        self._opening: dict[str, _Door] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()
        self._connections = Connections(store, self.clock, self.owner, self._lease, self._do_beside)
        self._stopping = False
        self._watching: Timer | None = None
        self._epoch = store.epoch
        self._checking: asyncio.Task[None] | None = None  # whether what we own is still ours

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Find what a crash has left, and make it true again."""
        unsettled = await self.store.unsettled()
        abandoned = await self.store.abandoned(now=self.clock.now())
        await self._look_after(list(dict.fromkeys([*unsettled, *abandoned])))
        self._do_beside(self._connections.forget_the_dead())
        self._watch()

    async def _look_after(self, conversation_ids: list[str]) -> None:
        """Many at a time: then they are written together."""

        async def each(conversation_id: str) -> None:
            # Another live process sees to it; or its agent is not here, and it has to wait for it.
            with suppress(Owned, Refused):
                try:
                    self._rest(await self._activate(conversation_id))  # if that was all
                except Damaged as damaged:  # the others are looked after all the same
                    _log.error("%s", damaged.message)

        for first in range(0, len(conversation_ids), _TOGETHER):
            await asyncio.gather(*map(each, conversation_ids[first : first + _TOGETHER]))

    def _watch(self) -> None:
        """Another process may die at any time: what it leaves is looked after, too."""

        async def look() -> None:
            with suppress(StorageUnavailable):
                await self._look_after(await self.store.abandoned(now=self.clock.now()))

        def due() -> None:
            self._do_beside(look())
            self._watch()

        if not self._stopping:
            self._watching = self.clock.call_after(round(self.settings.recheck * 1000), due)

    async def stop(self) -> None:
        """End every agent; the log says truthfully what became of their turns."""
        self._stopping = True
        if self._watching is not None:
            self._watching()
        await asyncio.gather(*(live.stop() for live in list(self._live.values())))
        for live in list(self._live.values()):
            await self._release(live.claim)
        self._live.clear()
        for name, channel in list(self._channels.items()):
            channel.finish(_STOPPED)
            self._forget_channel(name)
        await self._connections.stop()
        await asyncio.gather(*self._releasing)
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper

    # --- conversations ------------------------------------------------------------------------

    async def create(
        self,
        agent: str,
        *,
        conversation_id: str | None = None,
        user: str | None = None,
        title: str | None = None,
        cwd: str | None = None,
        model: str | None = None,
        permission_mode: str | None = None,
        options: Mapping[str, Any] | Struct | None = None,
        rules: Options | None = None,
        native_session_id: str | None = None,
    ) -> Talk:
        """A new conversation with one of the agents. Raises Refused, also if its id is taken."""
        wish = NewConversation(
            conversation_id or self.new_id(),
            agent,
            iso(self.clock.now()),
            user,
            title,
            cwd,
            model,
            permission_mode,
            native_session_id=native_session_id,
        )
        row = await self._conversations.begin(wish, options, rules or self.settings.options)
        return Talk(self, row)

    async def open(self, conversation_id: str) -> Talk:
        """A conversation that exists. Raises Refused with CONVERSATION_NOT_FOUND."""
        return Talk(self, await self._conversations.find(conversation_id))

    async def fork(
        self,
        conversation_id: str,
        at_sequence: int | None = None,
        *,
        new_conversation_id: str | None = None,
        title: str | None = None,
        user: str | None = None,
    ) -> Talk:
        """Another conversation that begins with this one's log, up to and with an entry.

        None: as far as it is whole. Raises Refused: NOT_A_FORK_POINT names the nearest places where
        it is, NOT_SUPPORTED says that the agent cannot begin in the middle.
        """
        row = await self._conversations.fork(
            conversation_id, at_sequence, new_conversation_id, title=title, user=user
        )
        return Talk(self, row)

    async def end(self, conversation_id: str) -> None:
        """End what runs in a conversation, as if the server stopped; it can be woken again."""
        live = self._live.get(conversation_id)
        if live is not None:
            await live.stop()

    async def remove(self, conversation_id: str, *, by: str | None = None) -> None:
        """End what runs in it, and delete it. Raises Refused with CONVERSATION_NOT_FOUND."""
        await self.end(conversation_id)
        await self._conversations.delete(conversation_id, by=by)

    # --- agents -------------------------------------------------------------------------------

    def unavailable(self, name: str) -> str | None:
        """Why an agent cannot be used now, and what to do about it."""
        return self._agents.unavailable(name)

    def check_able(self, row: ConversationRow, command: str) -> AgentCapabilities:
        """What the agent can do. Raises Refused with NOT_SUPPORTED where it cannot do this."""
        return self._agents.check_able(row.agent, command)

    def capabilities(self, name: str) -> p.Capabilities:
        """What can be asked of this agent; little, if it is not here."""
        return self._agents.capabilities(name)

    # --- what is alive ------------------------------------------------------------------------

    async def _activate(self, conversation_id: str) -> Live:
        """The conversation, owned by this process, and true."""
        await self._check_epoch()
        live = self._live.get(conversation_id)
        if live is not None and not live.dead:
            return live
        door = self._opening.setdefault(conversation_id, _Door())
        door.waiting += 1
        try:
            async with door.lock:
                live = self._live.get(conversation_id)
                if live is None or live.dead:
                    live = await self._take_over(conversation_id)
        finally:
            door.waiting -= 1
            if not door.waiting:
                del self._opening[conversation_id]
        return live

    async def _take_over(self, conversation_id: str) -> Live:
        claim = await self._claim(conversation_id)
        try:
            row = await self.store.conversation(conversation_id)
        except Damaged:
            await self._release(claim)  # whoever repairs it need not wait
            raise
        if row is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        if conversation_id in self._live:  # we had lost it: what its followers knew is void
            self._forget_channel(conversation_id)
        channel = self._channel(row)
        while channel.state != row.state:  # another process has written meanwhile
            await catch_up(channel, self.store, row, iso(self.clock.now()))
        try:
            self._check_running()
            agent = self._agents.usable(row.agent)
        except Refused:
            await self._release(claim)  # whoever has the agent need not wait
            raise
        live = self._live[conversation_id] = Live(
            row,
            claim,
            agent=agent,
            store=self.store,
            clock=self.clock,
            channel=channel,
            new_id=self.new_id,
            idle_seconds=self.settings.agent_idle,
            ended=self._rest,
            committed=lambda head: self._hint(conversation_id, head),
            user_budget=lambda: self.budget_of(row.user),
        )
        if self._keeper is None:
            self._keeper = asyncio.create_task(self._keep(), name="turnwire leases")
        live.recover()
        return live

    async def _claim(self, conversation_id: str) -> Claim:
        """Raises Owned. An owner of this machine that has died need not be waited for."""
        try:
            return await self._claim_as(self.owner, conversation_id, self._lease)
        except Owned as owned:
            dead = owned.data.get("owner")
            if dead is None or not has_died(dead):
                raise
        # In its name, so that it is let go.
        await self._release(await self._claim_as(dead, conversation_id, 0))
        return await self._claim_as(self.owner, conversation_id, self._lease)

    async def _claim_as(self, owner: str, conversation_id: str, lease: int) -> Claim:
        reach(CrashPoint.CLAIMS)
        claim = await self.store.claim(conversation_id, owner, now=self.clock.now(), lease=lease)
        reach(CrashPoint.CLAIMED)
        return claim

    def _hint(self, conversation_id: str, head: int) -> None:
        reach(CrashPoint.HINTS)
        self.bus.publish(conversation_id, head)
        reach(CrashPoint.HINTED)

    def _check_running(self) -> None:
        if self._stopping:
            raise Refused("STORAGE_UNAVAILABLE", "The server is stopping.")

    def _rest(self, live: Live) -> None:
        """Nothing is left to do: forget what the store knows as well."""
        if not live.dead and (self._stopping or not live.is_idle):
            return
        if self._live.get(live.row.conversation_id) is live:
            del self._live[live.row.conversation_id]
        channel = self._channels.get(live.row.conversation_id)
        if channel is live.channel and (live.dead or not channel.is_followed):
            channel.finish(_STOPPED)
            self._forget_channel(live.row.conversation_id)
        self._do_beside(self._release(live.claim))

    def _do_beside(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._releasing.add(task)
        task.add_done_callback(self._releasing.discard)
        return task

    async def _release(self, claim: Claim) -> None:
        with suppress(StorageUnavailable):  # then the lease runs out by itself
            reach(CrashPoint.RELEASES)
            await self.store.release(claim)
            reach(CrashPoint.RELEASED)

    @property
    def _lease(self) -> int:
        return round(self.settings.lease * 1000)

    async def _keep(self) -> None:
        """Hold on to what is ours, for as long as there is something."""
        while self._live:
            over = asyncio.Event()
            cancel = self.clock.call_after(self._lease // 3, over.set)
            try:
                await over.wait()
            finally:
                cancel()
            await self._renew()
            self._notice_epoch()
        self._keeper = None

    async def _renew(self) -> list[Live]:
        """Hold on to what is ours. Returns what is not any more."""
        ours, lost = list(self._live.values()), []
        with suppress(StorageUnavailable):  # a claim holds until another one takes it
            reach(CrashPoint.RENEWS)
            held = await self.store.renew(
                [live.claim for live in ours], now=self.clock.now(), lease=self._lease
            )
            reach(CrashPoint.RENEWED)
            for live in ours:
                if live.claim not in held and self._live.get(live.claim.conversation_id) is live:
                    live.lose()
                    lost.append(live)
        return lost

    def _channel(self, row: ConversationRow) -> Channel:
        channel = self._channels.get(row.conversation_id)
        if channel is None:
            channel = self._channels[row.conversation_id] = Channel(row.state)
        return channel

    def _forget_channel(self, conversation_id: str) -> None:
        """Whoever comes gets another one, with somebody else who looks at the log for it."""
        self._channels.pop(conversation_id, None)
        elsewhere = self._elsewhere.pop(conversation_id, None)
        if elsewhere is not None:  # it may be looking at this very moment
            asyncio.get_running_loop().call_soon(elsewhere.close)

    # --- following ----------------------------------------------------------------------------

    async def follow(
        self, row: ConversationRow, place: Place, client_id: str, user: str | None = None
    ) -> AsyncGenerator[Sent, None]:
        """Everything after a place, then live; see `turnwire.engine.follow`.

        Ends with FollowAgain, or with Refused and CONVERSATION_NOT_FOUND if it was deleted.
        """
        channel = await self._followed(row)
        connection_id = self.new_id()
        frames = follow(
            place,
            channel,
            self._replays,
            self.clock,
            info=self._info(row, channel, client_id, connection_id),
            left=lambda: self._left(row.conversation_id),
            frames=self.settings.buffer,
            size=self.settings.buffer_bytes,
        )
        reached = 0
        self._connections.open(connection_id, row.conversation_id, client_id, user, lambda: reached)
        try:
            async with aclosing(frames):
                async for sent in frames:
                    reached = sent.number or reached
                    yield sent
        finally:
            self._connections.close(connection_id)

    async def attach(
        self,
        row: ConversationRow,
        place: Place,
        subscriber: Subscriber,
        *,
        client_id: str,
        connection_id: str,
        user: str | None,
        reached: Callable[[], int],
        protocol: str = "v2",
    ) -> AsyncGenerator[Sent | Spoken, None]:
        """The first frames for a subscriber of one's own, who gets what follows by themselves.

        `reached` says the newest entry that they were sent. To be ended with `detach`, also where
        this was not read to its end.
        """
        channel = await self._followed(row)
        about = (connection_id, row.conversation_id, client_id, user, reached, protocol)
        self._connections.open(*about)
        info = self._info(row, channel, client_id, connection_id)
        frames = open_at(place, channel, subscriber, self._replays, self.clock, info)
        async with aclosing(frames):
            async for sent in frames:
                yield sent

    def detach(self, conversation_id: str, subscriber: Subscriber, connection_id: str) -> None:
        """They follow no longer."""
        self._connections.close(connection_id)
        channel = self._channels.get(conversation_id)
        if channel is not None:
            channel.unsubscribe(subscriber)
            self._left(conversation_id)

    async def _followed(self, row: ConversationRow) -> Channel:
        """The channel of a conversation that somebody is about to follow."""
        self._check_running()
        await self._check_epoch()
        dying = self._live.get(row.conversation_id)
        if dying is not None and dying.dead:  # another process has it now; its channel goes, too
            await dying.settle()
        channel = self._channels.get(row.conversation_id)
        if channel is None:
            channel = self._channel(await self._read(row.conversation_id))
        live = self._live.get(row.conversation_id)
        if live is not None and not channel.is_followed:
            live.post(i.Came(at=self.clock.now()))
        self._look_elsewhere(channel)
        return channel

    def _info(
        self, row: ConversationRow, channel: Channel, client_id: str, connection_id: str
    ) -> Callable[[int, int], p.SessionInfo]:
        offered = self.capabilities(row.agent)
        limits = p.Limits(
            self.settings.max_frame_bytes,
            channel.state.options.max_queue,
            self.settings.heartbeat_seconds,
        )
        return lambda first, head: p.SessionInfo(
            connection_id, client_id, self.store.epoch, first, head, offered, limits
        )

    async def _read(self, conversation_id: str) -> ConversationRow:
        """A conversation as it is in the log that is there."""
        epoch, row = None, None
        while epoch != self.store.epoch:
            epoch = self.store.epoch
            row = await self.store.conversation(conversation_id)
            await self._check_epoch()
        if row is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        return row

    def _look_elsewhere(self, channel: Channel) -> None:
        name = channel.state.conversation_id
        if name not in self._elsewhere:
            self._elsewhere[name] = Elsewhere(
                channel,
                store=self.store,
                bus=self.bus,
                clock=self.clock,
                recheck=self.settings.recheck,
                is_ours=lambda: self._notice_epoch() or name in self._live or name in self._opening,
            )

    def _notice_epoch(self) -> bool:
        """Whether the log is not the one that it was: then all that anybody knows of it is void."""
        if self.store.epoch == self._epoch:
            return False
        self._epoch = self.store.epoch
        for name, channel in list(self._channels.items()):
            channel.finish(partial(FollowAgain, "The log was replaced by another; follow again."))
            if name not in self._live:
                self._forget_channel(name)
        self._checking = self._do_beside(self._let_go())
        return True

    async def _let_go(self) -> None:
        """What we owned may be nobody's now."""
        await asyncio.gather(*(live.settle() for live in await self._renew()))
        self._checking = None

    async def _check_epoch(self) -> None:
        """Go on when what is known is of the log that is there."""
        self._notice_epoch()
        if self._checking is not None:
            await asyncio.shield(self._checking)

    def _left(self, conversation_id: str) -> None:
        channel, live = self._channels.get(conversation_id), self._live.get(conversation_id)
        if channel is None or channel.is_followed:
            return
        elsewhere = self._elsewhere.pop(conversation_id, None)
        if elsewhere is not None:
            elsewhere.close()
        if live is None:
            del self._channels[conversation_id]
        else:
            live.post(i.Left(at=self.clock.now()))

    async def budget_of(self, user: str | None) -> UserBudget | None:
        """What a user may spend and has spent, as the ledger has it; none: there is no limit."""
        limit = self.settings.budget_usd_per_user
        if limit is None:
            return None
        since, until = period_of(self.settings.budget_period, self.clock.now())
        return UserBudget(await self.store.spent(user, since=since), limit, until)

    async def status(self, conversation_id: str) -> Status:
        """A conversation's small state, as it is now."""
        live = self._live.get(conversation_id)
        if live is not None:
            return status_of(live.state)
        row = await self._conversations.find(conversation_id)
        return status_of(as_it_is(row, self.clock.now()))

    def running_turn(self, conversation_id: str) -> Turn | None:
        """The turn that runs or waits in a conversation, if this process has it."""
        live = self._live.get(conversation_id)
        return live.state.turn if live is not None else None

    async def wake(self, conversation_id: str) -> Status:
        """Take a conversation over, and make it true. Raises Owned."""
        live = await self._activate(conversation_id)
        await live.settle()
        if live.dead and not self._stopping:  # it was not ours any more
            live = await self._activate(conversation_id)
            await live.settle()
        return status_of(live.state)

    # --- asking -------------------------------------------------------------------------------

    async def ask(
        self,
        conversation_id: str,
        make: Callable[[int, Outcome | None], i.Input],
        *,
        user: str | None,
        client_message_id: str | None = None,
        body: bytes = b"",
        request_id: str | None = None,
        accepted: Callable[[Answer], None] | None = None,
    ) -> Answer:
        """Hand an input to its conversation and wait for what it says. Raises Refused."""
        self._check_running()
        live = await self._activate(conversation_id)
        done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        digest = hashlib.sha256(body).digest()
        live.post(Ask(make, done, user or "", client_message_id, digest, request_id, accepted))
        return await done
