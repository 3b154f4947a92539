"""What a process leaves behind that was killed: seen as it is, and looked after by who is there."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from msgspec import structs

from tests.engine.watching import PATIENCE, Watcher, engine_on, talk_with
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.effects import BeginTurn
from turnwire.core.conversation.state import Turn
from turnwire.core.error_codes import Refused
from turnwire.core.status import Status
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, FollowAgain
from turnwire.ports import Commit, StorageUnavailable, Store
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock
from turnwire.testing.store_samples import LEASE, NOW, TRACE, begin


async def leave(store: Store, name: str = "talk") -> None:
    """What an engine has written that was killed in the middle of a turn. Its lease still runs."""
    talk = await begin(store, name, owner="killed")
    turn = Turn(1, TRACE, "agent", "running")
    state = structs.replace(talk.state, turn=turn, turns=1, traces={1: TRACE}, state="streaming")
    await talk.commit(talk.prepare(BeginTurn(turn), *talk.entries("half an"), state=state))


async def until_it_rests(engine: Engine) -> Status:
    async with asyncio.timeout(PATIENCE):
        # What is written shows in the file a moment before the engine tells of it.
        while await engine.store.unsettled() or (await engine.status("talk")).running:
            await asyncio.to_thread(int)
    return await engine.status("talk")


def test_who_starts_while_the_lease_runs_looks_after_it_when_that_is_over(path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(path)
        await leave(store)
        await store.close()
        clock = ManualClock(NOW + 1000)
        async with engine_on(path, clock=clock, agent=DemoAgent(delay=0)) as engine:
            assert (await engine.status("talk")).running, "it may be alive"
            clock.forward(LEASE / 1000 + 2)
            status = await until_it_rests(engine)
            assert (status.state, status.reason) == ("interrupted", "server_restart")
            [end] = await engine.store.turns("talk")
            assert end.end.interrupted

    asyncio.run(scene())


def test_who_was_there_already_looks_after_it_too(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock(NOW)
        async with engine_on(path, clock=clock, agent=DemoAgent(delay=0)) as engine:
            await leave(engine.store)
            clock.forward(LEASE / 1000 + 2)
            assert (await until_it_rests(engine)).state == "interrupted"

    asyncio.run(scene())


def test_nothing_seems_to_run_where_the_agent_is_not_known(path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(path)
        await leave(store)
        clock = ManualClock(NOW + LEASE)
        async with Engine(store, {}, clock=clock) as engine:
            async with Watcher(await engine.open("talk")) as seen:
                [told] = seen.of(f.SessionState)
                assert (told.payload.state, told.payload.running) == ("interrupted", False)
            [end] = await store.turns("talk")
            assert end.end.interrupted
        await store.close()

    asyncio.run(scene())


class FullDisk(SqliteStore):
    """Nothing more can be written."""

    async def commit(self, commit: Commit) -> None:
        raise StorageUnavailable("The disk is full.")


def test_it_is_let_go_for_the_next_one_though_it_could_not_be_made_true(path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(path)
        await leave(store)
        await store.close()
        clock = ManualClock(NOW + LEASE)
        full = await FullDisk.open(path)
        async with Engine(full, {}, clock=clock) as engine:
            with pytest.raises(Refused, match="no agent"):
                await engine.wake("talk")
            row = await full.conversation("talk")
            assert row is not None
            assert (row.state.state, row.owner) == ("streaming", None)
        await full.close()

    asyncio.run(scene())


def test_what_needs_nothing_is_let_go_and_costs_nothing(path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(path)
        await begin(store, "talk", owner="killed")
        await store.close()
        later = NOW + LEASE + 1
        async with engine_on(path, clock=ManualClock(later), agent=DemoAgent(delay=0)) as engine:
            assert not engine.alive
            await engine._background.done()
            assert await engine.store.abandoned(now=later + 9 * LEASE) == []

    asyncio.run(scene())


def test_until_somebody_does_it_is_seen_as_it_is(path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(path)
        await leave(store)
        engine = Engine(store, {}, clock=ManualClock(NOW + LEASE - 1))
        assert (await engine.status("talk")).running
        engine = Engine(store, {}, clock=ManualClock(NOW + LEASE))
        status = await engine.status("talk")
        assert (status.state, status.running, status.turn_id) == ("interrupted", False, None)
        await store.close()

    asyncio.run(scene())


def test_a_thousand_conversations_are_true_again_soon(path: Path) -> None:
    async def scene() -> None:
        store = await SqliteStore.open(path)
        await asyncio.gather(*(leave(store, f"talk-{number}") for number in range(1000)))
        await store.close()
        clock = ManualClock(NOW + LEASE)
        async with engine_on(path, clock=clock, agent=DemoAgent(delay=0)) as engine:
            async with asyncio.timeout(PATIENCE):
                while await engine.store.unsettled():
                    await asyncio.to_thread(int)
            rows = await engine.store.conversations(limit=2000)
            assert {row.state.state for row in rows} == {"interrupted"}

    asyncio.run(scene())


def _tells_an_end(frame: f.Frame) -> bool:
    """Whether a frame replays the end of a turn."""
    return isinstance(frame, f.MessageReplay) and isinstance(
        frame.payload.event, f.AssistantComplete
    )


def test_who_was_cut_off_and_comes_again_sees_what_the_new_owner_writes(path: Path) -> None:
    async def scene() -> None:
        settings = EngineSettings(recheck=0.02, lease=0.2)
        async with engine_on(path, agent=DemoAgent(delay=0), settings=settings) as mine:
            talk = await talk_with(mine)
            async with Watcher(talk) as seen:
                await talk.send("question")
                await seen.state("waiting_input")
                later = ManualClock(mine.clock.now() + 60_000)
                async with engine_on(path, agent=DemoAgent(delay=0), clock=later) as other:
                    theirs = await other.open(talk.id)
                    await theirs.wake()
                    with pytest.raises(FollowAgain):
                        await seen.until(f.Frame, lambda frame: False)
                    async with aclosing(talk.follow()) as again, asyncio.timeout(PATIENCE):
                        await anext(again)
                        [request] = (await theirs.status()).requests
                        await theirs.answer(request.request_id, "Blue")
                        while not _tells_an_end(await anext(again)):
                            pass

    asyncio.run(scene())
