"""What is told is on disk, and whose place is not in this log is told so."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from tests.engine.clients import number_of
from tests.engine.watching import Watcher, engine_on, talk_with
from turnwire.dialects.v2 import frames as f
from turnwire.stores.sqlite import SqliteStore


def test_what_is_told_can_be_read_by_everyone_at_that_moment(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "log.db") as engine:
            other = await SqliteStore.open(tmp_path / "log.db")
            talk = await talk_with(engine)
            async with aclosing(talk.follow()) as frames:
                await anext(frames)
                await talk.send("think tool plan subagent")
                async for frame in frames:
                    number = number_of(frame)
                    if number is not None:
                        assert await other.entries(talk.id, after=number - 1, limit=1)
                    if isinstance(frame, f.AssistantComplete):
                        assert [turn.turn_id for turn in await other.turns(talk.id)] == [1]
                        break
            await other.close()

    asyncio.run(scene())


def test_a_restored_log_is_another_one_and_says_so(tmp_path: Path) -> None:
    async def scene() -> None:
        async with engine_on(tmp_path / "log.db") as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("hello")
                await seen.until(f.AssistantComplete)
                await seen.state("active")
            place = {"last_sequence": seen.view().cursor, "epoch": engine.store.epoch}
            await engine.store.backup(str(tmp_path / "copy.db"))
        async with engine_on(tmp_path / "copy.db") as engine:
            async with Watcher(await engine.open(talk.id), **place) as again:
                [reset] = again.of(f.SessionReset)
                assert reset.payload.reason == "epoch"
            assert again.view().messages == seen.view().messages

    asyncio.run(scene())
