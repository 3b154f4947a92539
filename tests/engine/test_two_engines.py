"""Two engines on one store: one owner writes, the other follows, and takes over after the lease."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.helpers.scenes import open_question, running_turn
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.ports import Owned
from turnwire.testing.clock import ManualClock


async def test_a_second_engine_cannot_write_while_the_first_one_lives(path: Path) -> None:
    clock = ManualClock()
    async with (
        open_question(path, clock, seconds=None) as (talk, _, _),
        engine_on(path, clock=clock) as other,
    ):
        theirs = await other.open(talk.id)
        with pytest.raises(Owned):
            await theirs.send("hello")


async def test_an_owner_that_lost_its_lease_writes_nothing_more(path: Path) -> None:
    clock = ManualClock()
    async with open_question(path, clock, seconds=None) as (talk, _, asked):
        late = ManualClock(clock.now() + 60_000)
        async with engine_on(path, clock=late) as other:
            theirs = await other.open(talk.id)
            await theirs.answer(asked.question_id, "Blue")
            with pytest.raises(Refused) as refused:
                await talk.answer(asked.question_id, "Red")
            assert refused.value.code in ("STORAGE_UNAVAILABLE", "DUPLICATE_INPUT_RESPONSE")


async def test_an_engine_notices_a_takeover_by_itself_and_ends_its_agent(path: Path) -> None:
    async with running_turn(path) as (_, clock, agent, talk, session):
        late = ManualClock(clock.now() + 60_000)
        async with engine_on(path, clock=late) as other:
            status = await (await other.open(talk.id)).wake()
            assert (status.state, status.running) == ("interrupted", False)
            clock.forward(4)  # time to renew the lease
            await session.closed.wait()
        assert not agent.live


async def test_a_server_that_restarts_before_the_lease_ends_recovers_the_log_after_it(
    path: Path,
) -> None:
    async with running_turn(path) as (_, dead, _, talk, _):  # its clock stands still from here on
        clock = ManualClock(dead.now())
        async with engine_on(path, clock=clock) as back, Watcher(await back.open(talk.id)) as seen:
            clock.forward(8)
            assert seen.of(f.SessionState)[-1].payload.running  # its owner may still live
            clock.forward(4)  # the owner has not renewed its lease: it is dead
            assert (await seen.until(f.AssistantComplete)).payload.interrupted
            assert (await seen.state("interrupted")).payload.reason == "server_restart"


async def test_a_refused_engine_still_follows_the_conversation_of_another_owner(path: Path) -> None:
    async with (
        running_turn(path) as (_, clock, _, talk, session),
        engine_on(path, clock=clock) as other,
    ):
        theirs = await other.open(talk.id)
        with pytest.raises(Owned):
            await theirs.send("me too")
        async with Watcher(theirs) as seen:
            session.speaks("Hello.", finishes=True)
            session.ends()
            async with Watcher(talk) as owner:
                while not owner.view().turns:
                    await owner.until(f.AssistantComplete)
            clock.forward(3)  # the other engine polls the log
            await seen.state("active")
            assert seen.view().turns
