"""Budgets hold over turns, conversations, processes and deletions."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.spending_server import EACH
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on
from turnwire.agents.demo import DemoAgent
from turnwire.cli.restore import Restorer
from turnwire.core.error_codes import Refused
from turnwire.core.status import Budget, TurnEnd
from turnwire.core.times import ms_of
from turnwire.crash_points import EXIT_CODE, VARIABLE
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.engine.export.jsonl import HeadLine, lines_of
from turnwire.ports import Agent, AgentCapabilities
from turnwire.stores.sqlite import SqliteStore, fsck
from turnwire.testing.clock import ManualClock

PER_USER = EngineSettings(budget_usd_per_user=1.0, budget_period="month")


@asynccontextmanager
async def playing(
    path: Path, cost: float, **more: Any
) -> AsyncIterator[tuple[Engine, ScriptedAgent]]:
    agent = ScriptedAgent()
    agent.cost = cost
    async with engine_on(path, agent=agent, **more) as engine:
        yield engine, agent


async def says(talk: Talk, agent: ScriptedAgent, *texts: str) -> list[TurnEnd]:
    """Sends these messages one after the other. Returns the ends of their turns."""
    ends = []
    async with Watcher(talk) as seen:
        for text in texts:
            await talk.send(text)
        for _ in texts:
            session = await agent.opened()
            session.begins()
            session.ends()
            ends.append((await seen.until(f.AssistantComplete)).payload)
    return ends


async def refused(talk: Talk) -> Refused:
    with pytest.raises(Refused) as refusal:
        await talk.send("more")
    assert refusal.value.code == "BUDGET_EXCEEDED"
    return refusal.value


def test_a_conversation_stops_when_its_budget_is_spent_and_so_it_stays(path: Path) -> None:
    async def scene() -> None:
        async with playing(path, 0.5) as (engine, agent):
            talk = await engine.create("demo", options={"max_budget_usd": 0.8})
            assert talk.row.options == {}, "it is not the agent's own"
            await says(talk, agent, "one")
            assert agent.starts[-1].max_budget_usd == 0.8
            assert (await talk.status()).budget == Budget(0.5, 0.8)
            await says(talk, agent, "two")
            assert (await refused(talk)).data == {"of": "conversation", "spent": 1.0, "limit": 0.8}
        async with playing(path, 0.5) as (engine, agent):
            talk = await engine.open(talk.id)
            await refused(talk)
            assert not agent.sessions

    asyncio.run(scene())


def test_a_queued_message_does_not_begin_when_the_budget_is_spent_meanwhile(path: Path) -> None:
    async def scene() -> None:
        async with playing(path, 2.0) as (engine, agent):
            talk = await engine.create("demo", options={"max_budget_usd": 1.0})
            async with Watcher(talk) as seen:
                await talk.send("one")
                await talk.send("two")
                await talk.send("three")
                session = await agent.opened()
                session.begins()
                session.ends()
                await seen.until(f.AssistantComplete)
                end = (await seen.until(f.AssistantComplete)).payload
                assert end.error is not None
                assert end.error.code == "BUDGET_EXCEEDED"
                status = await talk.status()
            assert (status.queue_held, len(status.queue)) == (True, 1), "the rest waits"
            assert sum(session.prompts.values()) == 1

    asyncio.run(scene())


def test_all_conversations_of_a_user_spend_from_one_budget(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock(ms_of("2026-01-31T12:00:00.000Z"))
        async with playing(path, 0.4, settings=PER_USER, clock=clock) as (engine, agent):
            first, second = [await engine.create("demo", user="ann") for _ in range(2)]
            await says(first, agent, "one")
            await says(second, agent, "two")
            assert agent.starts[-1].max_budget_usd == pytest.approx(0.6)
            await says(first, agent, "three")
            assert agent.starts[-1].max_budget_usd == pytest.approx(0.2), "less than it was allowed"
            assert not agent.sessions[0].is_alive
            for talk in (first, second):
                assert (await refused(talk)).data["of"] == "user"
            other = await engine.create("demo", user="ben")
            await says(other, agent, "I may")
            await engine.remove(first.id)
            await refused(second)
            budget = await engine.budget_of("ann")
            assert budget is not None
            assert budget.spent == pytest.approx(1.2)
            assert budget.resets_at == "2026-02-01T00:00:00.000Z"
        clock = ManualClock(ms_of("2026-02-01T00:00:00.000Z"))
        async with playing(path, 0.4, settings=PER_USER, clock=clock) as (engine, agent):
            await says(await engine.open(second.id), agent, "a new month")

    asyncio.run(scene())


def test_an_open_agent_may_spend_the_budget_of_a_new_period(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock(ms_of("2026-01-31T23:59:59.000Z"))
        async with playing(path, 0.4, settings=PER_USER, clock=clock) as (engine, agent):
            talk = await engine.create("demo", user="ann")
            await says(talk, agent, "one", "two")
            assert len(agent.starts) == 1
            clock.forward(2.0)
            await says(talk, agent, "a new month")
            assert agent.starts[-1].max_budget_usd == pytest.approx(1.0)
            assert not agent.sessions[0].is_alive
            await says(talk, agent, "and on")
            assert len(agent.starts) == 2, "it is not opened again for nothing"

    asyncio.run(scene())


def test_an_answer_that_would_wake_the_agent_waits_for_the_next_period(path: Path) -> None:
    async def scene() -> None:
        async with playing(path, 1.0, settings=PER_USER) as (engine, agent):
            talk = await engine.create("demo", user="ann")
            async with Watcher(talk) as seen:
                await talk.send("ask me")
                session = await agent.opened()
                session.begins()
                session.asks()
                asked = (await seen.until(f.AssistantRequestInput)).payload.question_id
        async with playing(path, 1.0, settings=PER_USER) as (engine, agent):
            await says(await engine.create("demo", user="ann"), agent, "spend it all")
            talk = await engine.open(talk.id)
            with pytest.raises(Refused) as refusal:
                await talk.answer(asked, "Blue")
            assert refusal.value.code == "BUDGET_EXCEEDED"
            assert (await talk.status()).requests, "it can still be answered"

    asyncio.run(scene())


def test_a_fork_and_an_import_spend_nothing_again(path: Path) -> None:
    class Forking(ScriptedAgent):
        def __init__(self) -> None:
            super().__init__()
            self.capabilities = AgentCapabilities(forks=True)
            self.cost = 0.5

    async def scene() -> None:
        agent = Forking()
        async with engine_on(path, agent=agent) as engine:
            limits = {"max_budget_usd": 0.8}
            talk = await engine.create("demo", user="ann", options=limits)
            await says(talk, agent, "one")
            fork = await talk.fork()
            assert (await fork.status()).budget == Budget(0.0, 0.8)
            row = (await engine.open(talk.id)).row
            first, *rest = [line async for line in lines_of(engine.store, row)]
            assert isinstance(first, HeadLine)
            restorer = await Restorer.begin(engine.store, "copy", first, AgentCapabilities())
            for line in rest:
                await restorer.take(line)
            assert (await (await engine.open("copy")).status()).budget == Budget(0.5, 0.8)
            assert await engine.store.spent("ann") == 0.5
            assert await engine.store.spent(None) == 0.0
            await says(fork, agent, "two")
            assert await engine.store.spent("ann") == 1.0

    asyncio.run(scene())


@pytest.mark.parametrize("limit", [0, -1, "much", True])
def test_a_budget_is_an_amount(path: Path, limit: object) -> None:
    async def scene() -> None:
        async with playing(path, 0.0) as (engine, _):
            with pytest.raises(Refused) as refusal:
                await engine.create("demo", options={"max_budget_usd": limit})
            assert refusal.value.code == "INVALID_PAYLOAD"

    asyncio.run(scene())


def test_the_cost_of_a_turn_is_in_the_ledger_once_whenever_the_server_dies(path: Path) -> None:
    """Each process dies at the next transaction, right before or after it is on disk."""
    assert _spends(path) == 0
    died = 0
    for number in range(1, 40):
        point = "sqlite_commits" if number % 2 else "sqlite_committed"
        ended = _spends(path, **{VARIABLE: f"{point}:{1 + number // 2}"})
        _check_ledger(path)
        if ended == 0:
            break
        assert ended == EXIT_CODE
        died += 1
    else:
        pytest.fail("It has less to write than that.")
    assert died > 4, "it died in the midst of a turn, and at its end"
    assert _check_ledger(path) > 2
    assert not fsck.check(path, now=time.time_ns() // 1_000_000).findings


def _spends(path: Path, **env: str) -> int:
    command = [sys.executable, "-m", "tests.engine.helpers.spending_server", str(path)]
    return subprocess.run(command, env={**os.environ, **env}, check=False).returncode


def _check_ledger(path: Path) -> int:
    """Checks that the ledger has each turn with a cost once. Returns their number."""
    with sqlite3.connect(path) as db:
        ledger = db.execute("SELECT turn_id, cost_usd, user FROM ledger ORDER BY turn_id")
        paid = ledger.fetchall()
        ended = db.execute("SELECT turn_id FROM turns WHERE cost_usd > 0 ORDER BY turn_id")
        assert paid == [(turn_id, EACH, "ann") for (turn_id,) in ended.fetchall()]
    return len(paid)


# --- turns at once ------------------------------------------------------------------------------


class _KeepsBudget(ScriptedAgent):
    """An agent that stops when its allowance is spent."""

    def __init__(self) -> None:
        super().__init__()
        self.capabilities = AgentCapabilities(keeps_budget=True)


async def _spend_at_once(engine: Engine, agent: ScriptedAgent, number: int) -> float:
    """Returns the cost of concurrent turns in this many conversations of one user."""
    talks = [await engine.create("demo", user="ann") for _ in range(number)]
    cost = agent.cost
    assert cost is not None
    async with AsyncExitStack() as watching:
        seen = [await watching.enter_async_context(Watcher(talk)) for talk in talks]
        await asyncio.gather(*(talk.send("spend") for talk in talks))
        async with asyncio.timeout(PATIENCE):
            while sum(len(each.of(f.AssistantComplete)) for each in seen) < number:
                await asyncio.sleep(0.05)  # a turn that may begin has begun by then
                for session, start in zip(agent.sessions, agent.starts, strict=True):
                    if session.waits:
                        most = start.max_budget_usd
                        assert most is not None
                        keeps = agent.capabilities.keeps_budget
                        agent.cost = min(cost, most) if keeps else cost
                        session.begins()
                        session.ends()
    return await engine.store.spent("ann")


@pytest.mark.parametrize("agent", [_KeepsBudget(), ScriptedAgent()], ids=["stops", "cannot stop"])
@pytest.mark.parametrize("cost", [0.01, 0.02])
def test_thirty_concurrent_turns_spend_no_more_than_the_budget(
    path: Path, agent: ScriptedAgent, cost: float
) -> None:
    async def scene() -> None:
        agent.cost = cost
        agent.sessions.clear()
        agent.starts.clear()
        settings = EngineSettings(budget_usd_per_user=0.05, budget_period="ever")
        async with engine_on(path, agent=agent, settings=settings) as engine:
            spent = await _spend_at_once(engine, agent, 30)
        # The spending of an agent that cannot stop is known only after its turn.
        above = 0.0 if agent.capabilities.keeps_budget else cost
        assert 0.05 - cost <= spent < 0.05 + above + 1e-9

    asyncio.run(scene())


def test_a_turn_leaves_something_for_another_that_begins_meanwhile(path: Path) -> None:
    async def scene() -> None:
        agent = _KeepsBudget()
        async with engine_on(path, agent=agent, settings=PER_USER) as engine:
            for _ in range(3):
                await (await engine.create("demo", user="ann")).send("work")
            async with asyncio.timeout(PATIENCE):
                while len(agent.starts) < 3:  # noqa: ASYNC110  # no event announces it
                    await asyncio.sleep(0.01)
            given = [start.max_budget_usd or 0.0 for start in agent.starts]
            assert sorted(given, reverse=True) == [0.5, 0.25, 0.125]

    asyncio.run(scene())


def test_an_agent_session_goes_on_while_enough_of_its_allowance_is_left(path: Path) -> None:
    async def scene() -> None:
        agent = _KeepsBudget()
        agent.cost = 0.1
        async with engine_on(path, agent=agent, settings=PER_USER) as engine:
            talk = await engine.create("demo", user="ann")
            await says(talk, agent, "one", "two", "three", "four")
            assert [start.max_budget_usd for start in agent.starts] == [0.5]
            await says(talk, agent, "five")
            assert agent.starts[-1].max_budget_usd == pytest.approx(0.3), "half of what is left"

    asyncio.run(scene())


def test_a_turn_waits_for_the_allowance_that_another_process_returns(path: Path) -> None:
    async def scene() -> None:
        async with (
            playing(path, 0.4, settings=PER_USER) as (one, first),
            playing(path, 0.4, settings=PER_USER) as (other, second),
        ):
            talk = await one.create("demo", user="ann")
            async with Watcher(talk) as seen:
                await talk.send("one")
                async with asyncio.timeout(PATIENCE):
                    session = await first.opened()
                await (await other.create("demo", user="ann")).send("two")
                async with asyncio.timeout(PATIENCE):
                    while not other._budgets._waiting:  # noqa: ASYNC110  # no event announces it
                        await asyncio.sleep(0.01)
                assert not second.sessions, "all is reserved for the first"
                session.begins()
                session.ends()
                await seen.until(f.AssistantComplete)
            async with asyncio.timeout(PATIENCE):
                await second.opened()
            assert second.starts[0].max_budget_usd == pytest.approx(0.6)

    asyncio.run(scene())


# --- agents that cost nothing ---------------------------------------------------------------------


@asynccontextmanager
async def both(path: Path) -> AsyncIterator[tuple[Engine, ScriptedAgent]]:
    """The demo, which costs nothing, and an agent whose turn costs the whole budget."""
    paid = ScriptedAgent()
    paid.cost = 1.0
    store = await SqliteStore.open(path)
    try:
        agents: dict[str, Agent] = {"paid": paid, "demo": DemoAgent(delay=0)}
        async with Engine(store, agents, settings=PER_USER) as engine:
            yield engine, paid
    finally:
        await store.close()


async def answers(engine: Engine) -> None:
    """Have a turn of the demo, from its message to its end."""
    talk = await engine.create("demo", user="ann")
    async with Watcher(talk) as seen:
        await talk.send("hello")
        end = (await seen.until(f.AssistantComplete)).payload
        assert end.error is None


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_turn_that_costs_nothing_waits_for_no_reservation(path: Path) -> None:
    async def scene() -> None:
        async with both(path) as (engine, paid):
            await (await engine.create("paid", user="ann")).send("work")
            async with asyncio.timeout(PATIENCE):
                session = await paid.opened()
            session.begins()
            await answers(engine)
            assert session.is_alive
            reserved = "SELECT user, amount_usd FROM reservations"
            with sqlite3.connect(path) as db:
                assert db.execute(reserved).fetchall() == [("ann", 1.0)], "none but the other's"

    asyncio.run(scene())


def test_an_agent_that_costs_nothing_answers_when_the_budget_is_spent(path: Path) -> None:
    async def scene() -> None:
        async with both(path) as (engine, paid):
            talk = await engine.create("paid", user="ann")
            await says(talk, paid, "spend it all")
            await refused(talk)
            await answers(engine)

    asyncio.run(scene())


def test_the_reservation_of_a_turn_is_free_after_its_server_was_killed(path: Path) -> None:
    command = [sys.executable, "-m", "tests.engine.helpers.spending_server", str(path), "hang"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == b"in the midst of a turn\n"
        finally:
            server.kill()
    reserved = "SELECT conversation_id, user, amount_usd FROM reservations"
    with sqlite3.connect(path) as db:
        assert db.execute(reserved).fetchall() == [("talk", "ann", 1.0)]

    async def scene() -> None:
        settings = EngineSettings(lease=1.0, budget_usd_per_user=1.0, budget_period="ever")
        async with playing(path, 0.4, settings=settings) as (engine, agent):
            await says(await engine.create("demo", user="ann"), agent, "go on")
            assert agent.starts[-1].max_budget_usd == pytest.approx(1.0)

    asyncio.run(scene())
