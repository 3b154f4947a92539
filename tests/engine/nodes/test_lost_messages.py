"""What one node did reaches the others also if its messages are lost: the store tells them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.engine.helpers.watcher import PATIENCE, Watcher
from tests.engine.nodes.two_engines import Two, two_engines
from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.engine.settings import EngineSettings
from turnwire.testing import FaultyBus

SETTINGS = EngineSettings(recheck=0.2, lease=2.0)


def without_faults(network: LocalNetwork) -> FaultyBus:
    return FaultyBus(LocalBus(network), 0, lose=0, double=0, reorder=0)


async def archive_on_b(two: Two, talk: Talk) -> None:
    """Archives a conversation as the HTTP interface of the other node does."""
    await two.b.store.change(talk.id, archived=True)
    await two.b.end(talk.id, reason="archived")


def test_the_owner_ends_a_conversation_that_was_archived_while_the_bus_was_gone(
    path: Path,
) -> None:
    async def scene() -> None:
        network = LocalNetwork()
        near, far = without_faults(network), without_faults(network)
        async with two_engines(path, buses=(near, far), settings=SETTINGS) as two:
            talk = await two.a.create("scripted")
            async with Watcher(talk) as watcher:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                await talk.send("queued")
                await watcher.state("streaming")
                far.cut_off()
                await archive_on_b(two, talk)
                end = await watcher.until(f.AssistantComplete)
                assert end.payload.interrupted
            async with asyncio.timeout(PATIENCE):
                while talk.id in two.a.alive:  # noqa: ASYNC110  # nothing tells a test
                    await asyncio.sleep(0.01)
            row = await two.a.store.conversation(talk.id)
            assert row is not None
            assert [len(row.state.queue), row.state.turn] == [1, None], "the queue is held"
            assert two.agent_a.live == []

    asyncio.run(scene())


def test_a_follower_leaves_a_conversation_that_was_archived_while_the_bus_was_gone(
    path: Path,
) -> None:
    async def scene() -> None:
        network = LocalNetwork()
        near, far = without_faults(network), without_faults(network)
        async with two_engines(path, buses=(near, far), settings=SETTINGS) as two:
            talk = await two.a.create("scripted")
            far.cut_off()
            there = await two.b.open(talk.id)
            async with asyncio.timeout(PATIENCE), aclosing(there.follow()) as following:
                assert isinstance(await anext(following), f.SessionConnected)
                await two.a.store.change(talk.id, archived=True)
                with pytest.raises(Refused) as refused:
                    async for _ in following:
                        pass
            assert refused.value.code == "CONVERSATION_CLOSED"
            async with asyncio.timeout(PATIENCE), aclosing(there.follow()) as archived:
                frames = [await anext(archived) for _ in range(3)]
            assert isinstance(frames[-1], f.SessionState), "a program may follow it all the same"

    asyncio.run(scene())


def test_a_command_that_the_bus_cannot_carry_is_refused_at_once(path: Path) -> None:
    async def scene() -> None:
        network = LocalNetwork()
        buses = LocalBus(network), LocalBus(network, most_bytes=10_000)
        async with two_engines(path, buses=buses) as two:
            talk = await two.a.create("scripted")
            await talk.send("hello")
            await two.agent_a.opened()
            there = await two.b.open(talk.id)
            with pytest.raises(Refused) as refused:
                await there.send("x" * 10_000, client_message_id="large")
            assert refused.value.code == "PAYLOAD_TOO_LARGE"
            assert (await there.send("small", client_message_id="small")).ack.queue_id

    asyncio.run(scene())
