"""Many conversations on one store: they come to life when something happens, and go again."""

from __future__ import annotations

import asyncio
import hashlib
import os
import socket
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Literal, Self

import msgspec
from msgspec import Struct

from turnwire.core.content import Content, TextContent
from turnwire.core.conversation import inputs as i
from turnwire.core.conversation.state import Conversation, Options, status_of
from turnwire.core.error_codes import Refused
from turnwire.core.status import Outcome, Status
from turnwire.core.times import iso
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.frames import Frame
from turnwire.engine.channel import Channel, Sent, numbered
from turnwire.engine.clock import SystemClock
from turnwire.engine.follow import Place, follow
from turnwire.engine.live import Answer, Ask, Live
from turnwire.ports import (
    Agent,
    Claim,
    Clock,
    ConversationRow,
    NewConversation,
    Owned,
    StorageUnavailable,
    Store,
)

__all__ = ["Engine", "EngineSettings", "Talk"]

_COMMANDS = ["user.message", "user.input_response", "user.permission_response", "user.interrupt"]
_COMMANDS += ["user.queue", "session.heartbeat"]


class EngineSettings(Struct, frozen=True):
    """How an engine behaves where there is a choice."""

    options: Options = Options()  # of new conversations
    agent_idle: float = 120.0  # seconds without a turn, until the agent's process is closed
    lease: float = 10.0  # seconds until another process may take a conversation over
    buffer: int = 10_000  # frames that may wait for a slow follower
    max_frame_bytes: int = 1 << 20
    heartbeat_seconds: int = 15


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
        new_id: Callable[[], str] | None = None,
    ) -> None:
        self.store = store
        self.agents = agents
        self.settings = settings or EngineSettings()
        self.clock = clock or SystemClock()
        self.new_id = new_id or (lambda: uuid.uuid4().hex)
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{self.new_id()[:8]}"
        self._live: dict[str, Live] = {}
        self._channels: dict[str, Channel] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._keeper: asyncio.Task[None] | None = None
        self._releasing: set[asyncio.Task[None]] = set()
        self._stopping = False

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
        for conversation_id in await self.store.unsettled():
            # Another live process sees to it; or its agent is not here, and it has to wait for it.
            with suppress(Owned, Refused):
                await self._activate(conversation_id)

    async def stop(self) -> None:
        """End every agent; the log says truthfully what became of their turns."""
        self._stopping = True
        await asyncio.gather(*(live.stop() for live in list(self._live.values())))
        for live in list(self._live.values()):
            await self._release(live.claim)
        self._live.clear()
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
        options: Mapping[str, Any] | None = None,
        rules: Options | None = None,
    ) -> Talk:
        """A new conversation with one of the agents."""
        name = conversation_id or self.new_id()
        known = self._agent(agent)
        kept = msgspec.structs.replace(
            rules or self.settings.options, questions_survive=known.capabilities.questions_survive
        )
        state = Conversation(name, kept, title=title, model=model, permission_mode=permission_mode)
        now = iso(self.clock.now())
        new = NewConversation(
            name, agent, now, user, title, cwd, model, permission_mode, dict(options or {}), state
        )
        return Talk(self, await self.store.create(new))

    async def open(self, conversation_id: str) -> Talk:
        """A conversation that exists. Raises Refused with CONVERSATION_NOT_FOUND."""
        row = await self.store.conversation(conversation_id)
        if row is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        return Talk(self, row)

    def _agent(self, name: str) -> Agent:
        agent = self.agents.get(name)
        if agent is None:
            known = ", ".join(sorted(self.agents)) or "none"
            raise Refused("AGENT_UNAVAILABLE", f"There is no agent {name!r}; there is: {known}.")
        why = agent.unavailable()
        if why is not None:
            raise Refused("AGENT_UNAVAILABLE", why)
        return agent

    # --- what is alive ------------------------------------------------------------------------

    async def _activate(self, conversation_id: str) -> Live:
        """The conversation, owned by this process, and true."""
        live = self._live.get(conversation_id)
        if live is not None and not live.dead:
            return live
        lock = self._opening.setdefault(conversation_id, asyncio.Lock())
        async with lock:
            live = self._live.get(conversation_id)
            if live is not None and not live.dead:
                return live
            claim = await self.store.claim(
                conversation_id, self.owner, now=self.clock.now(), lease=self._lease
            )
            row = await self.store.conversation(conversation_id)
            if row is None:
                raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
            try:
                agent = self._agent(row.agent)
            except Refused:
                await self.store.release(claim)  # whoever has the agent need not wait
                raise
            channel = self._channel(row)
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
            )
            if self._keeper is None:
                self._keeper = asyncio.create_task(self._keep(), name="turnwire leases")
            live.recover()
        self._opening.pop(conversation_id, None)
        return live

    def _rest(self, live: Live) -> None:
        """Nothing is left to do: forget what the store knows as well."""
        if not live.dead and (self._stopping or not live.is_idle):
            return
        if self._live.get(live.row.conversation_id) is live:
            del self._live[live.row.conversation_id]
        if not live.channel.is_followed:
            self._channels.pop(live.row.conversation_id, None)
        releasing = asyncio.create_task(self._release(live.claim))
        self._releasing.add(releasing)
        releasing.add_done_callback(self._releasing.discard)

    async def _release(self, claim: Claim) -> None:
        with suppress(StorageUnavailable):  # then the lease runs out by itself
            await self.store.release(claim)

    @property
    def _lease(self) -> int:
        return round(self.settings.lease * 1000)

    async def _keep(self) -> None:
        """Hold on to what is ours, for as long as there is something."""
        while self._live:
            over = asyncio.Event()
            cancel = self.clock.call_at(self.clock.now() + self._lease // 3, over.set)
            try:
                await over.wait()
            finally:
                cancel()
            claims = [live.claim for live in self._live.values()]
            await self.store.renew(claims, now=self.clock.now(), lease=self._lease)
        self._keeper = None

    def _channel(self, row: ConversationRow) -> Channel:
        channel = self._channels.get(row.conversation_id)
        if channel is None:
            channel = self._channels[row.conversation_id] = Channel(row.state)
        return channel

    # --- following ----------------------------------------------------------------------------

    async def follow(
        self, row: ConversationRow, place: Place, client_id: str
    ) -> AsyncGenerator[Sent, None]:
        """Everything after a place, then live; see `turnwire.engine.follow`."""
        fresh = await self.store.conversation(row.conversation_id)
        channel = self._channel(fresh or row)
        live = self._live.get(row.conversation_id)
        if live is not None and not channel.is_followed:
            live.post(i.Came(at=self.clock.now()))
        connection_id = self.new_id()
        agent = self.agents.get(row.agent)
        able = agent.capabilities if agent else None

        def info(first: int, head: int) -> p.SessionInfo:
            offered = p.Capabilities(
                row.agent,
                [*_COMMANDS, *(able.commands if able else [])],
                able.images if able else False,
                able.models if able else [],
                able.permission_modes if able else [],
            )
            limits = p.Limits(
                self.settings.max_frame_bytes,
                channel.state.options.max_queue,
                self.settings.heartbeat_seconds,
            )
            return p.SessionInfo(
                connection_id, client_id, self.store.epoch, first, head, offered, limits
            )

        frames = follow(
            channel,
            self.store,
            self.clock,
            place,
            info=info,
            left=lambda: self._left(row.conversation_id),
            limit=self.settings.buffer,
        )
        async with aclosing(frames):
            async for sent in frames:
                yield sent

    def _left(self, conversation_id: str) -> None:
        channel, live = self._channels.get(conversation_id), self._live.get(conversation_id)
        if channel is None or channel.is_followed:
            return
        if live is None:
            del self._channels[conversation_id]
        else:
            live.post(i.Left(at=self.clock.now()))

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
        live = await self._activate(conversation_id)
        done: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        digest = hashlib.sha256(body).digest()
        live.post(Ask(make, done, user or "", client_message_id, digest, request_id, accepted))
        return await done


class Talk:
    """A conversation, for whoever talks in it."""

    def __init__(self, engine: Engine, row: ConversationRow) -> None:
        self._engine = engine
        self.row = row

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self.row.conversation_id

    async def status(self) -> Status:
        """Its small state, as it is now."""
        live = self._engine._live.get(self.id)
        if live is not None:
            return status_of(live.state)
        row = await self._engine.store.conversation(self.id)
        return status_of((row or self.row).state)

    async def wake(self) -> Status:
        """Take it over, and make it true: what a crash has left is ended. Raises Owned."""
        live = await self._engine._activate(self.id)
        await live.settle()
        return status_of(live.state)

    async def send(
        self,
        content: str | list[Content],
        *,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Say something to the agent."""
        said = _content(content)
        queue_id, trace_id = self._engine.new_id(), self._engine.new_id()

        def make(at: int, _: Outcome | None) -> i.Input:
            return i.Said(
                at=at,
                content=said,
                queue_id=queue_id,
                trace_id=trace_id,
                by=user,
                client_message_id=client_message_id,
            )

        return await self._ask(make, "user.message", said, user, client_message_id)

    async def answer(
        self,
        question_id: str,
        answer: Any,
        *,
        resume_task: bool = True,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Answer a question."""

        def make(at: int, ended: Outcome | None) -> i.Input:
            return i.Answered(
                at=at,
                question_id=question_id,
                answer=answer,
                resume_task=resume_task,
                by=user,
                client_message_id=client_message_id,
                ended=ended,
            )

        body = [question_id, answer, resume_task]
        return await self._ask(
            make, "user.input_response", body, user, client_message_id, question_id
        )

    async def decide(
        self,
        request_id: str,
        decision: Literal["allow", "deny"],
        *,
        reason: str | None = None,
        updated_input: Any = None,
        remember: list[Any] | None = None,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Allow or deny what the agent wants to run."""

        def make(at: int, ended: Outcome | None) -> i.Input:
            return i.Decided(
                at=at,
                request_id=request_id,
                decision=decision,
                reason=reason,
                updated_input=updated_input,
                remember=remember or [],
                by=user,
                client_message_id=client_message_id,
                ended=ended,
            )

        body = [request_id, decision, reason, updated_input, remember]
        return await self._ask(
            make, "user.permission_response", body, user, client_message_id, request_id
        )

    async def interrupt(
        self,
        turn_id: int,
        *,
        queue: Literal["hold", "continue", "clear"] = "hold",
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Stop a turn."""

        def make(at: int, _: Outcome | None) -> i.Input:
            return i.Interrupted(
                at=at, turn_id=turn_id, queue=queue, by=user, client_message_id=client_message_id
            )

        return await self._ask(make, "user.interrupt", [turn_id, queue], user, client_message_id)

    async def change_queue(
        self,
        action: Literal["remove", "replace", "move", "resume"],
        queue_id: str | None = None,
        *,
        content: str | list[Content] | None = None,
        before: str | None = None,
        user: str | None = None,
        client_message_id: str | None = None,
    ) -> Answer:
        """Remove, replace or move what waits, or let a held queue go on."""
        said = None if content is None else _content(content)

        def make(at: int, _: Outcome | None) -> i.Input:
            return i.ChangedQueue(
                at=at,
                action=action,
                queue_id=queue_id,
                content=said,
                before=before,
                by=user,
                client_message_id=client_message_id,
            )

        body = [action, queue_id, said, before]
        return await self._ask(make, "user.queue", body, user, client_message_id)

    async def rename(self, title: str, *, user: str | None = None) -> Answer:
        """Give it another title."""
        return await self._ask(
            lambda at, _: i.Renamed(at=at, title=title, by=user), "rename", title, user, None
        )

    async def follow(
        self,
        *,
        last_sequence: int | None = None,
        epoch: str | None = None,
        tail: int | None = None,
        client_id: str = "local",
    ) -> AsyncGenerator[Frame, None]:
        """Everything after a place in the log, then live, as the frames of protocol v2."""
        place = Place(last_sequence, epoch, tail)
        sequence = 0
        async with aclosing(self._engine.follow(self.row, place, client_id)) as sent:
            async for each in sent:
                sequence += 1
                yield numbered(each.frame, sequence)

    async def _ask(
        self,
        make: Callable[[int, Outcome | None], i.Input],
        kind: str,
        body: Any,
        user: str | None,
        client_message_id: str | None,
        request_id: str | None = None,
    ) -> Answer:
        return await self._engine.ask(
            self.id,
            make,
            user=user,
            client_message_id=client_message_id,
            body=msgspec.json.encode([kind, body]),
            request_id=request_id,
        )


def _content(said: str | list[Content]) -> list[Content]:
    return [TextContent(said)] if isinstance(said, str) else said
