"""Several engines on one database: a node that is cut off, and clocks that differ."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.watcher import PATIENCE, Watcher
from tests.stores.postgres.faults import Proxy
from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings
from turnwire.engine.clock import SystemClock
from turnwire.ports import Agent, Clock, Owned
from turnwire.stores.postgres import PostgresStore
from turnwire.testing.agent_listener import processes_below_us

SETTINGS = EngineSettings(lease=6.0, recheck=0.1, recover_in_background=True)


def engine_on(store: PostgresStore, agent: Agent, clock: Clock | None = None) -> Engine:
    return Engine(store, {"demo": agent}, settings=SETTINGS, clock=clock)


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_a_node_without_its_database_ends_its_agents_before_another_takes_over(
    postgres: str,
) -> None:
    async with (
        Proxy(postgres) as proxy,
        PostgresStore.open(proxy.address, patience=0.5) as theirs,
        PostgresStore.open(postgres) as ours,
        engine_on(ours, DemoAgent(delay=0)) as here,
        engine_on(theirs, ChildAgent("demo", delay=0.05)) as cut_off,
    ):
        talk = await cut_off.create("demo")
        async with Watcher(talk) as seen:
            await talk.send("long")
            await seen.until(f.AssistantChunk)
            pids = [each.pid for each in processes_below_us() if each.name.startswith("python")]
            assert pids
            await proxy.__aexit__()
            assert await asyncio.to_thread(wait_until_gone, pids) == []
            row = await ours.conversation(talk.id)
            assert row is not None
            assert row.owner == cut_off.owner
            assert row.lease_until > time.time_ns() // 1_000_000, "no other node may take it yet"

        async def is_true() -> bool:
            row = await ours.conversation(talk.id)
            return row is not None and row.state.state == "interrupted" and row.owner is None

        await until(is_true)  # by the other node
        assert [node.owner for node in await ours.nodes()] == [here.owner]


class Wrong(SystemClock):
    """A clock that is two hours ahead, or behind."""

    def __init__(self, hours: int) -> None:
        self._off = hours * 3_600_000

    def now(self) -> int:
        return super().now() + self._off


async def test_clocks_that_are_hours_apart_take_no_conversation_away(postgres: str) -> None:
    clocks = Wrong(-2), Wrong(2)
    async with PostgresStore.open(postgres) as one, PostgresStore.open(postgres) as two:
        for store, clock in zip((one, two), clocks, strict=True):
            store._clock = clock.now  # type: ignore[method-assign]
        await hold_on(engine_on(one, DemoAgent(delay=0.05), clocks[0]), one, two, clocks[1])


async def hold_on(first: Engine, one: PostgresStore, two: PostgresStore, clock: Clock) -> None:
    """One engine holds on to its conversation, although another one asks for it."""
    async with first as behind, engine_on(two, DemoAgent(delay=0), clock) as ahead:
        talk = await behind.create("demo")
        async with Watcher(talk) as seen:
            await talk.send("long")
            await seen.until(f.AssistantChunk)
            for _ in range(3):
                try:
                    await ahead.wake(talk.id)
                    raise AssertionError("its owner lives")
                except Owned:
                    await seen.until(f.AssistantChunk)
                assert (await ahead.status(talk.id)).running
            assert len(await one.nodes()) == 2, "none was expelled"
