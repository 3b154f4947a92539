"""The grace period: a turn without followers is stopped when it ends, unless a follower comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.engine.helpers.scenes import running_turn
from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import Watcher, engine_on
from turnwire.dialects.v2 import frames as f
from turnwire.testing.clock import ManualClock


async def test_a_turn_without_followers_is_stopped_after_the_grace(path: Path) -> None:
    clock = ManualClock()
    async with engine_on(path, clock=clock) as engine:
        talk = await engine.create("demo", options={"delay": 0.005})
        async with Watcher(talk) as seen:
            await talk.send("long")
            await seen.until(f.AssistantChunk)
        actor = engine.alive[talk.id]
        await actor.settle()
        clock.forward(31)
        async with Watcher(talk) as seen:
            while not seen.view().turns:
                await seen.until(f.AssistantComplete)
        assert seen.view().turns[0].end.interrupted


async def test_a_follower_that_comes_back_within_the_grace_keeps_the_turn_running(
    path: Path,
) -> None:
    async with running_turn(path) as (engine, clock, _, talk, _):
        actor = engine.alive[talk.id]
        await actor.settle()
        clock.forward(29)
        async with Watcher(talk):
            clock.forward(60)
            await actor.settle()
            assert (await talk.status()).running
        # The follower has left again, and the grace begins anew.
        await actor.settle()
        clock.forward(29)
        await actor.settle()
        assert (await talk.status()).running
        clock.forward(1)
        await actor.settle()
        assert actor.state.turn is None or actor.state.turn.stopping


async def test_a_follower_that_connects_as_the_grace_ends_keeps_the_turn_running(
    path: Path,
) -> None:
    async with running_turn(path) as (engine, clock, _, talk, _):
        actor = engine.alive[talk.id]
        await actor.settle()
        following = talk.follow()
        coming = asyncio.ensure_future(anext(following))
        clock.forward(31)  # the grace is over while the follower is connecting
        assert not coming.done()
        await coming
        await actor.settle()
        assert actor.state.turn is not None
        assert actor.state.turn.stopping is None
        await following.aclose()


async def test_a_follower_that_waits_for_the_state_counts_as_connected(path: Path) -> None:
    clock, agent = ManualClock(), ScriptedAgent()
    async with engine_on(path, agent=agent, clock=clock) as engine:
        talk = await engine.create("demo")
        first, second = talk.follow(), talk.follow()
        await anext(first)
        await talk.send("hello")
        session = await agent.opened()
        session.begins()
        session.speaks("some words", finishes=False)
        actor = engine.alive[talk.id]
        async for frame in first:
            if isinstance(frame, f.AssistantChunk):
                break
        await actor.settle()
        with actor.channel.publishing():
            coming = asyncio.ensure_future(anext(second))
            await asyncio.sleep(0)  # `coming` takes its first step
            await first.aclose()
            await actor.settle()
            clock.forward(31)
            await actor.settle()
        assert isinstance(await coming, f.SessionConnected)
        assert actor.state.turn is not None
        assert actor.state.turn.stopping is None
        await second.aclose()
