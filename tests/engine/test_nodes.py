"""One lease for all conversations of a process: renewed, lost and given back; deadlines on any node."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from tests.engine.helpers.scenes import leave, open_question, running_turn
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on, talk_with
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, FollowAgain
from turnwire.engine.ownership.owners import inbox_of
from turnwire.ports import Claim, NewConversation, NodeRow, Owned, StorageUnavailable, Store
from turnwire.stores.postgres import PostgresStore
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock
from turnwire.testing.store_samples import LEASE, NOW, at

SECONDS = EngineSettings().lease


async def until(is_so: Callable[[], Any]) -> None:
    """Waits until something is so; calls and awaits are both possible."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = is_so()
            if await found if asyncio.iscoroutine(found) else found:
                return
            await asyncio.sleep(0.002)


async def owner_of(store: Store, name: str) -> str | None:
    row = await store.conversation(name)
    assert row is not None
    return row.owner


# --- the cost of idle conversations ---------------------------------------------------------------


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the statements of both stores by their first words.

    Leaves out those that several writes to a file share, as chance has it.
    """
    counted: Counter[str] = Counter()

    # A pool may open a connection at any time: what it asks first does not count.
    first = ("SET default_transaction_read_only", "SELECT (SELECT CASE")
    others = ("BEGIN", "COMMIT", "pragma", "SELECT value FROM meta")

    def count(sql: str) -> None:
        said = " ".join(sql.split())
        if not said.startswith((*first, *others)):
            counted[" ".join(said.split()[:3])] += 1

    def hook(connection: apsw.Connection) -> None:
        def trace(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
            count(sql)
            return True

        connection.exec_trace = trace

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, hook])
    for name in ("execute", "fetch", "fetchrow", "fetchval"):
        method = getattr(asyncpg.Connection, name)

        async def traced(
            self: Any, sql: str, *given: Any, _method: Any = method, **how: Any
        ) -> Any:
            count(sql)
            return await _method(self, sql, *given, **how)

        monkeypatch.setattr(asyncpg.Connection, name, traced)
    return counted


@pytest.mark.needs_sqlite(reason="opens both stores itself")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_idle_conversations_cost_no_statements(
    kind: str, path: Path, statements: Counter[str], request: pytest.FixtureRequest
) -> None:
    """A hundred followed conversations in memory cost as much as five."""
    if kind == "sqlite":
        store: Store = await SqliteStore.open(path)
    else:
        postgres = await asyncio.to_thread(request.getfixturevalue, "postgres")
        store = await PostgresStore.open(postgres, uses_callers_time=True)
    clock = ManualClock()
    settings = EngineSettings(recover_in_background=kind == "postgres")
    costs = []
    async with (
        Engine(store, {"demo": DemoAgent(delay=0)}, clock=clock, settings=settings) as engine,
        AsyncExitStack() as followers,
    ):
        for number in (5, 95):
            for _ in range(number):
                talk = await talk_with(engine)
                await followers.enter_async_context(Watcher(talk))
                await talk.wake()
            clock.forward(SECONDS)  # everything new is reported
            await quiet(engine, clock)
            statements.clear()
            for _ in range(8):
                clock.forward(SECONDS / 4)
                await quiet(engine, clock)
            costs.append(Counter(statements))
        assert len(engine.alive) == 100
    await store.close()
    few, many = costs
    assert many == few
    assert few["UPDATE nodes SET"] == 8


async def quiet(engine: Engine, clock: ManualClock) -> None:
    """Waits until the lease is renewed, its next renewal is set, and no other work is pending."""
    next_one = clock.now() + round(SECONDS * 250)
    await until(lambda: any(timer[0] == next_one for timer in clock._timers))
    await until(lambda: not len(engine._background))


# --- a node that is expelled ----------------------------------------------------------------------


async def test_an_expelled_process_loses_all_conversations_and_joins_again(path: Path) -> None:
    async with running_turn(path) as (engine, clock, agent, talk, session):
        other, before = await talk_with(engine), engine.owner
        async with Watcher(other) as seen:
            await other.wake()
            late = clock.now() + round(SECONDS * 1000)
            taken = await engine.store.claim(talk.id, "thief", now=late, lease=LEASE)
            clock.forward(SECONDS / 4)
            await session.closed.wait()
            with pytest.raises(FollowAgain):  # of the conversation that was not taken, too
                await seen.until(f.Frame, lambda frame: False)
        assert not agent.live
        await until(lambda: engine.owner != before)
        assert inbox_of(engine.owner) == inbox_of(before), "its address stays the same"

        async def has_joined() -> bool:
            return [node.owner for node in await engine.store.nodes()] == [engine.owner]

        await until(has_joined)
        with pytest.raises(Owned):
            await talk.wake()
        assert not (await other.wake()).running
        await engine.store.release(taken)
        assert (await talk.wake()).state == "interrupted"


async def test_a_process_notices_that_one_conversation_was_taken_away(path: Path) -> None:
    async with engine_on(path, clock=ManualClock(), agent=DemoAgent(delay=0)) as engine:
        mine, other = await talk_with(engine), await talk_with(engine)
        async with Watcher(mine) as seen, Watcher(other):
            for talk in (mine, other):
                await talk.wake()
            await engine.store.delete(mine.id)  # by another process
            engine.clock.forward(SECONDS / 4)  # type: ignore[attr-defined]
            with pytest.raises(Refused) as refused:
                await seen.until(f.Frame, lambda frame: False)
            assert refused.value.code == "CONVERSATION_NOT_FOUND"
            assert [*engine.alive] == [other.id]


# --- conversations that are owned, and not run ----------------------------------------------------


class Forgetful(SqliteStore):
    """A store that fails when it is told to."""

    claims_are_lost = False  # they are written, and the answer is lost
    releases_fail = False

    async def claim(self, conversation_id: str, owner: str, *, now: int, lease: int) -> Claim:
        claim = await super().claim(conversation_id, owner, now=now, lease=lease)
        if self.claims_are_lost:
            raise StorageUnavailable("The answer was lost.")
        return claim

    async def release(self, claim: Claim) -> None:
        if self.releases_fail:
            raise StorageUnavailable("The disk has gone.")
        await super().release(claim)


@asynccontextmanager
async def forgetful(path: Path) -> AsyncIterator[tuple[Forgetful, Engine, ManualClock]]:
    store, clock = await Forgetful.open(path), ManualClock()
    assert isinstance(store, Forgetful)
    async with Engine(store, {"demo": DemoAgent(delay=0)}, clock=clock) as engine:
        yield store, engine, clock
    await store.close()


@pytest.mark.needs_sqlite(reason="has a store of its own")
async def test_a_release_that_failed_is_repeated(path: Path) -> None:
    async with forgetful(path) as (store, engine, clock):
        talk = await talk_with(engine)
        store.releases_fail = True
        async with Watcher(talk):
            await talk.wake()

        def is_dropped() -> bool:
            clock.forward(1)  # the last follower has left
            return not engine.alive

        await until(is_dropped)
        await until(lambda: not len(engine._background))
        for _ in range(3):
            clock.forward(SECONDS / 4)
            await asyncio.sleep(0)
        assert await owner_of(store, talk.id) == engine.owner
        store.releases_fail = False

        async def is_free() -> bool:
            clock.forward(SECONDS / 4)
            return await owner_of(store, talk.id) is None

        await until(is_free)


@pytest.mark.needs_sqlite(reason="has a store of its own")
@pytest.mark.parametrize("is_asked_for", [True, False])
async def test_a_claim_whose_answer_was_lost_is_taken_again_or_released(
    path: Path, is_asked_for: bool
) -> None:
    async with forgetful(path) as (store, engine, clock):
        talk = await talk_with(engine)
        store.claims_are_lost = True
        with pytest.raises(StorageUnavailable):
            await talk.wake()
        assert await owner_of(store, talk.id) == engine.owner
        store.claims_are_lost = False
        if is_asked_for:
            await talk.wake()
            return

        async def is_free() -> bool:
            clock.forward(SECONDS / 4)
            return await owner_of(store, talk.id) is None

        await until(is_free)


# --- recovery in the background -------------------------------------------------------------------


def in_background(store: Store, *agents: str, clock: ManualClock) -> Engine:
    settings = EngineSettings(recover_in_background=True)
    return Engine(
        store, {name: DemoAgent(delay=0) for name in agents}, clock=clock, settings=settings
    )


async def test_the_start_of_a_node_does_not_wait_for_the_recovery(path: Path) -> None:
    store = await SqliteStore.open(path)
    names = [f"talk-{number:02}" for number in range(30)]
    for name in names:
        await leave(store, name)
    clock = ManualClock(NOW + LEASE)
    async with in_background(store, "demo", clock=clock) as engine:
        assert await store.unsettled(), "some are left when it has started"

        async def are_true() -> bool:
            return not await store.unsettled()

        await until(are_true)
        assert {(await engine.status(name)).state for name in names} == {"interrupted"}
    await store.close()


async def test_a_node_leaves_conversations_to_the_node_that_has_their_agent(path: Path) -> None:
    store = await SqliteStore.open(path)
    clock = ManualClock(NOW + LEASE)
    for name in ("demo", "other", "unknown"):
        await store.create(NewConversation(name, name, at()))
        await store.claim(name, "killed", now=NOW, lease=LEASE)
    theirs = NodeRow("them", "another", "inbox", ["other"])
    await store.join(theirs, now=clock.now(), lease=3 * LEASE)

    async def abandoned() -> list[str]:
        clock.forward(2)
        return await store.abandoned(now=clock.now())

    async def is_left() -> bool:
        return await abandoned() == ["other"]

    async with in_background(store, "demo", clock=clock) as engine:
        await until(is_left)
        clock.forward(3 * LEASE / 1000)  # the other node dies

        async def are_none() -> bool:
            return await abandoned() == []

        await until(are_none)  # then no node has the agent, and any node makes it true
        assert (await engine.open("other")).id == "other"
    await store.close()


async def test_unfinished_turns_without_an_owner_are_ended_in_the_background(path: Path) -> None:
    """As they are in a restored backup."""
    store = await SqliteStore.open(path)
    await leave(store)
    await store.release(await store.claim("talk", "killed", now=NOW, lease=0))
    async with in_background(store, "demo", clock=ManualClock(NOW)):

        async def is_done() -> bool:
            return not await store.unsettled()

        await until(is_done)
    await store.close()


# --- deadlines ------------------------------------------------------------------------------------


async def outcome_of(store: Store, name: str, request_id: str) -> str | None:
    row = await store.request(name, request_id)
    assert row is not None
    return row.outcome


async def test_a_conversation_that_only_waits_for_a_deadline_is_released(path: Path) -> None:
    clock = ManualClock()
    async with open_question(path, clock, seconds=3600) as (talk, seen, asked):
        engine = talk._engine
        await seen.__aexit__()  # the last follower leaves
        clock.forward(engine.settings.agent_idle + 1)
        await until(lambda: not engine.alive and not len(engine._background))
        assert await owner_of(engine.store, talk.id) is None

        async def has_expired() -> bool:
            clock.forward(2)
            return await outcome_of(engine.store, talk.id, asked.question_id) == "expired"

        clock.forward(3600)
        await until(has_expired)
        await until(lambda: not engine.alive)


@pytest.mark.parametrize("is_killed", [False, True])
async def test_any_node_fires_the_deadlines_of_one_that_is_gone(
    path: Path, is_killed: bool
) -> None:
    async with AsyncExitStack() as first:
        clock = ManualClock()
        scene = open_question(path, clock, seconds=60)
        talk, _, asked = await first.enter_async_context(scene)
        if not is_killed:
            await first.aclose()  # otherwise its clock stands still, as if it hung
        later = ManualClock(clock.now())
        async with engine_on(path, clock=later, agent=DemoAgent(delay=0)) as engine:

            async def has_ended() -> bool:
                later.forward(2)
                return await outcome_of(engine.store, talk.id, asked.question_id) is not None

            later.forward(50)
            assert await outcome_of(engine.store, talk.id, asked.question_id) is None
            await until(has_ended)
            assert await outcome_of(engine.store, talk.id, asked.question_id) == "expired"


async def test_a_request_that_stays_open_after_its_deadline_is_woken_once(path: Path) -> None:
    clock = ManualClock()
    async with engine_on(path, clock=clock, agent=DemoAgent(delay=0)) as engine:
        store = engine.store
        rules = Options(question_seconds=300, question_policy="wait")
        talk = await engine.create("demo", options={"delay": 0}, rules=rules)
        async with Watcher(talk) as seen:
            await talk.send("question")
            asked = await seen.until(f.AssistantRequestInput)
            await seen.state("waiting_input")
        clock.forward(121)
        await until(lambda: not engine.alive and not len(engine._background))

        async def is_done() -> bool:
            clock.forward(2)
            return not await store.overdue(now=clock.now(), agents=["demo"])

        clock.forward(180)
        assert await store.overdue(now=clock.now(), agents=["demo"])
        await until(is_done)
        await until(lambda: not engine.alive and not len(engine._background))
        noted = [row.action for row in await store.audit(conversation_id=talk.id)]
        assert noted.count("overdue") == 1
        assert await outcome_of(store, talk.id, asked.payload.question_id) is None
        await talk.answer(asked.payload.question_id, "Blue")
