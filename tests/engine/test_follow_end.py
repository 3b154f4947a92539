"""Following ends with a reason: a shutdown, a takeover by another process, or a deletion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import PATIENCE, engine_on
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import EngineSettings, FollowAgain, SlowReader
from turnwire.errors import TurnwireError
from turnwire.testing.clock import ManualClock


async def to_its_end(frames: AsyncGenerator[f.Frame, None]) -> tuple[list[f.Frame], TurnwireError]:
    got: list[f.Frame] = []
    try:
        async with asyncio.timeout(PATIENCE):
            async for frame in frames:
                got.append(frame)  # noqa: PERF401  # it ends with an error
    except TurnwireError as end:
        return got, end
    raise AssertionError("it ended without a reason")


def test_a_shutdown_ends_every_follower_after_the_last_notice(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path, agent=ScriptedAgent()) as engine:
            busy = await engine.create("demo", conversation_id="busy")
            calm = await engine.create("demo", conversation_id="calm")
            following = [busy.follow(), calm.follow()]
            for frames in following:
                while not isinstance(await anext(frames), f.SessionState):
                    pass
            await busy.send("hello")
            await engine.stop()
            news, end = await to_its_end(following[0])
            assert isinstance(end, FollowAgain)
            assert end.retryable
            assert any(isinstance(frame, f.TurnStarted) for frame in news)
            assert isinstance(news[-1], f.SessionState)
            assert not news[-1].payload.running
            with pytest.raises(FollowAgain):
                await anext(following[1])
            await asyncio.sleep(0)
            assert not engine._channels._remote
            assert not engine._channels.all()
            with pytest.raises(Refused, match="stopping"):
                await anext(busy.follow())

    asyncio.run(scene())


def test_a_follower_can_reconnect_after_another_process_took_over(path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        settings = EngineSettings(lease=10)
        async with engine_on(path, agent=ScriptedAgent(), clock=clock, settings=settings) as mine:
            talk = await mine.create("demo")
            frames = talk.follow()
            await anext(frames)
            await talk.send("hello")
            late = ManualClock(clock.now() + 60_000)
            async with engine_on(path, agent=ScriptedAgent(), clock=late) as other:
                await (await other.open(talk.id)).wake()
                clock.forward(4)  # it wants to hold on to it, and cannot
                _, end = await to_its_end(frames)
                assert isinstance(end, FollowAgain)
                assert not isinstance(end, SlowReader)

    asyncio.run(scene())


@pytest.mark.parametrize("runs", [True, False], ids=["while it runs", "while it rests"])
def test_a_follower_of_a_deleted_conversation_gets_the_reason(path: Path, runs: bool) -> None:
    async def scene() -> None:
        clock = ManualClock()
        async with engine_on(path, agent=ScriptedAgent(), clock=clock) as engine:
            talk = await engine.create("demo")
            frames = talk.follow()
            await anext(frames)
            if runs:
                await talk.send("hello")
            await engine.store.delete(talk.id)
            clock.forward(4)
            _, end = await to_its_end(frames)
            assert end.code == "CONVERSATION_NOT_FOUND"

    asyncio.run(scene())
