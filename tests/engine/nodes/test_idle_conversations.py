"""Idle conversations cost the database nothing, however many there are."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from typing import Any

import asyncpg
import pytest

from tests.engine.helpers.watcher import PATIENCE, Watcher
from turnwire.agents.demo import DemoAgent
from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.stores.postgres import PostgresStore
from turnwire.testing.clock import ManualClock

SECONDS = 60  # the agent of an idle conversation is closed later


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the statements of all connections of this process by their text."""
    counted: Counter[str] = Counter()
    make = asyncpg.Connection.__init__

    def made(connection: Any, *given: Any, **options: Any) -> None:
        make(connection, *given, **options)
        connection.add_query_logger(lambda said: counted.update([said.query]))

    monkeypatch.setattr(asyncpg.Connection, "__init__", made)
    return counted


async def minute_with(
    address: str, statements: Counter[str], *, owned: int, attached: int, ownerless: int
) -> Counter[str]:
    """Returns the statements of a minute in which nothing happens.

    `owned`: conversations that one node runs, each with a follower there. `attached`: the same, with a
    follower on another node, too. `ownerless`: conversations that no node runs, with a follower.
    """
    clock, network = ManualClock(), LocalNetwork()
    async with AsyncExitStack() as stack:
        engines = []
        for _ in range(2):
            store = PostgresStore.open(address, uses_callers_time=True, writers=1, readers=1)
            agents = {"demo": DemoAgent()}
            bus = LocalBus(network)
            engine = Engine(await stack.enter_async_context(store), agents, bus=bus, clock=clock)
            engines.append(await stack.enter_async_context(engine))
        runs, follows = engines
        for number in range(owned + attached):
            talk = await runs.create("demo", options={"delay": 0})
            near = await stack.enter_async_context(Watcher(talk))
            await talk.send("hello")
            await near.until(f.AssistantComplete)
            await near.state("active")
            if number < attached:
                await stack.enter_async_context(Watcher(await follows.open(talk.id)))
        for _ in range(ownerless):
            await stack.enter_async_context(Watcher(await follows.create("demo")))
        await _passes(clock, 10, engines)  # what the beginnings leave to be done
        assert len(runs.alive) == owned + attached
        statements.clear()
        await _passes(clock, SECONDS, engines)
        counted = statements.copy()
        assert len(runs.alive) == owned + attached, "they were idle all the time"
        return counted


async def _passes(clock: ManualClock, seconds: int, engines: list[Engine]) -> None:
    """Lets time pass, and after each second waits until all that is due was done."""
    async with asyncio.timeout(PATIENCE):
        for _ in range(2 * seconds):
            clock.forward(0.5)
            for _ in range(3):  # messages to the other node, and its answers
                await asyncio.sleep(0)
                for engine in engines:
                    await engine._background.done()


async def test_more_idle_conversations_need_no_more_statements(
    postgres: str, statements: Counter[str]
) -> None:
    few = await minute_with(postgres, statements, owned=1, attached=1, ownerless=1)
    many = await minute_with(postgres, statements, owned=20, attached=20, ownerless=20)
    assert few.total() > 0, "the leases were renewed"
    # A connection that is opened later, or a text that is indexed later, counts by chance.
    more = {said: count for said, count in (many - few).items() if count > 5}
    assert not more
