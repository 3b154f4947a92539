"""Following a conversation that another process works on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.engine.watching import Watcher
from turnwire.agents.demo import DemoAgent
from turnwire.bus.local import LocalBus
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.ports import Bus
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock


class _Deaf(LocalBus):
    """Loses everything."""

    def publish(self, conversation_id: str, message: object) -> None:
        pass


@pytest.mark.parametrize("bus", [LocalBus(), _Deaf()], ids=["told", "told nothing"])
def test_a_follower_sees_what_another_engine_writes(tmp_path: Path, bus: Bus) -> None:
    async def scene() -> None:
        clock = ManualClock()
        mine = await SqliteStore.open(tmp_path / "turnwire.db")
        theirs = await SqliteStore.open(tmp_path / "turnwire.db")
        agents = {"demo": DemoAgent()}
        async with (
            Engine(mine, agents, bus=bus) as engine,
            Engine(theirs, agents, bus=bus, clock=clock) as other,
        ):
            talk = await engine.create("demo", options={"delay": 0})
            async with Watcher(talk) as near, Watcher(await other.open(talk.id)) as far:
                await talk.send("tool")
                await near.until(f.AssistantComplete)
                await near.state("active")
                clock.forward(3)  # a bus that loses everything only makes it slower
                while far.view().cursor < near.view().cursor:
                    await far.until(f.SessionState)
                assert far.view().messages == near.view().messages
                assert far.view().turns == near.view().turns
        await mine.close()
        await theirs.close()

    asyncio.run(scene())
