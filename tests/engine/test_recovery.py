"""Conversations of a killed process: they are shown as they are, and recovered by another engine."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.engine.helpers.scenes import leave
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on, talk_with
from turnwire.agents.demo import DemoAgent
from turnwire.core.error_codes import Refused
from turnwire.core.status import Status
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, FollowAgain
from turnwire.ports import Commit, StorageUnavailable
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock
from turnwire.testing.store_samples import LEASE, NOW, begin


async def until_it_rests(engine: Engine) -> Status:
    async with asyncio.timeout(PATIENCE):
        # A commit is visible in the file a moment before the engine publishes it.
        while await engine.store.unsettled() or (await engine.status("talk")).running:
            await asyncio.to_thread(int)
    return await engine.status("talk")


def test_an_engine_that_starts_during_the_lease_recovers_after_it(path: Path) -> None:
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


def test_an_engine_that_already_runs_recovers_too(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock(NOW)
        async with engine_on(path, clock=clock, agent=DemoAgent(delay=0)) as engine:
            await leave(engine.store)
            clock.forward(LEASE / 1000 + 2)
            assert (await until_it_rests(engine)).state == "interrupted"

    asyncio.run(scene())


def test_no_turn_is_shown_as_running_if_the_agent_is_unknown(path: Path) -> None:
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
    """A store that cannot write any more."""

    async def commit(self, commit: Commit) -> None:
        raise StorageUnavailable("The disk is full.")


@pytest.mark.needs_sqlite(reason="has a store of its own")
def test_a_conversation_that_cannot_be_recovered_is_released(path: Path) -> None:
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


def test_a_settled_conversation_is_released_without_a_write(path: Path) -> None:
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


def test_until_the_recovery_followers_see_the_state_of_the_log(path: Path) -> None:
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


@pytest.mark.needs_sqlite(reason="opens a copy of the file")
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
    """Returns whether a frame replays the end of a turn."""
    return isinstance(frame, f.MessageReplay) and isinstance(
        frame.payload.event, f.AssistantComplete
    )


def test_a_reconnected_follower_sees_the_entries_of_the_new_owner(path: Path) -> None:
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
