"""A conversation moves to a third node while a message of a second node is on its way to the first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import PATIENCE, Watcher
from tests.engine.nodes.two_engines import engines
from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.engine.nodes import messages as m
from turnwire.ports import Owned


class _HoldsOne(LocalBus):
    """Holds the next message of one kind back, until it is let go."""

    def __init__(self, network: LocalNetwork) -> None:
        super().__init__(network)
        self.kind: type | None = None
        self.held = asyncio.Event()
        self._message: tuple[str, bytes] | None = None

    def send(self, inbox: str, data: bytes) -> None:
        if self.kind is not None and isinstance(m.decode(data), self.kind):
            self.kind, self._message = None, (inbox, data)
            self.held.set()
        else:
            super().send(inbox, data)

    def let_go(self) -> None:
        assert self._message is not None
        super().send(*self._message)


class _Three:
    """The first owner, the node with the client, and the next owner."""

    def __init__(self, nodes: list[tuple[Engine, ScriptedAgent]], bus_of_client: _HoldsOne) -> None:
        (self.first, self.first_agent), (self.middle, _), (self.next, self.next_agent) = nodes
        self.bus = bus_of_client

    async def move(self, conversation_id: str) -> None:
        """Has the first owner end its agent and release the conversation, and the next one claim it."""
        await self.bus.held.wait()
        await self.first.end(conversation_id)
        while True:
            try:
                await self.next.wake(conversation_id)
                return
            except Owned:  # the first owner releases its claim in the background
                await asyncio.sleep(0.005)


@asynccontextmanager
async def three_engines(path: Path) -> AsyncIterator[_Three]:
    network = LocalNetwork()
    bus = _HoldsOne(network)
    buses = [LocalBus(network), bus, LocalBus(network)]
    async with engines(path, buses) as nodes, asyncio.timeout(PATIENCE):
        yield _Three(nodes, bus)


async def test_the_owner_moves_during_an_attach(path: Path) -> None:
    async with three_engines(path) as it:
        talk = await it.first.create("scripted")
        await talk.send("hello")
        (await it.first_agent.opened()).begins()
        it.bus.kind = m.Attach
        coming = asyncio.create_task(_come(it, talk.id))
        await it.move(talk.id)
        await (await it.next.open(talk.id)).send("again")
        session = await it.next_agent.opened()
        session.begins()
        it.bus.let_go()
        far = await coming
        session.speaks("Here.", finishes=False)
        await far.until(f.AssistantChunk, lambda frame: frame.payload.text.endswith("Here."))
        session.speaks("There.", finishes=True)
        session.ends()
        await far.state("active")
        await far.__aexit__()


async def _come(it: _Three, conversation_id: str) -> Watcher:
    return await Watcher(await it.middle.open(conversation_id)).__aenter__()


async def test_the_owner_moves_while_the_answer_to_its_question_is_on_its_way(path: Path) -> None:
    async with three_engines(path) as it:
        talk = await it.first.create("scripted")
        there = await it.middle.open(talk.id)
        async with Watcher(there) as far:
            await talk.send("hello")
            session = await it.first_agent.opened()
            session.begins()
            session.asks()
            asked = (await far.state("waiting_input")).payload.requests[0]
            it.bus.kind = m.Ask
            answering = asyncio.create_task(
                there.answer(asked.request_id, "tea", client_message_id="a-1")
            )
            await it.move(talk.id)
            it.bus.let_go()
            assert not (await answering).duplicate
            result = await far.until(f.AssistantToolResult)
            assert "tea" in str(result.payload.content)
            [session] = it.next_agent.sessions
            session.ends()
            await far.until(f.AssistantComplete)
            assert (
                len(far.of(f.AssistantRequestResolved)) == len(far.of(f.AssistantToolResult)) == 1
            )


async def test_the_owner_moves_while_a_stop_is_on_its_way(path: Path) -> None:
    async with three_engines(path) as it:
        talk = await it.first.create("scripted")
        there = await it.middle.open(talk.id)
        async with Watcher(there) as far:
            old = (await talk.send("hello")).ack.turn_id
            (await it.first_agent.opened()).begins()
            await far.state("streaming")
            assert old is not None
            it.bus.kind = m.Ask
            stopping = asyncio.create_task(there.interrupt(old))
            await it.move(talk.id)
            new = (await (await it.next.open(talk.id)).send("again")).ack.turn_id
            session = await it.next_agent.opened()
            session.begins()
            it.bus.let_go()
            assert (await stopping).ack.outcome == "already_ended"
            session.speaks("Here.", finishes=True)
            session.ends()
            end = await far.until(f.AssistantComplete, lambda frame: frame.turn_id == new)
            assert not end.payload.interrupted
