"""Pieces of text that a session pushes to the engine, without a pass of the event loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.engine.helpers.scenes import running_turn
from tests.engine.helpers.watcher import Watcher
from turnwire.dialects.v2 import frames as f


def _texts(seen: Watcher) -> list[str]:
    return [frame.payload.text for frame in seen.frames if isinstance(frame, f.AssistantChunk)]


def test_a_piece_that_an_idle_conversation_gets_is_published_at_once(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_turn(tmp_path / "db") as (_, _, _, talk, session), Watcher(talk) as seen:
            session.speaks("a", finishes=False)
            await seen.until(f.AssistantChunk)
            session.speaks("b", finishes=False)
            assert not session.has_unread
            await seen.until(f.AssistantChunk)
            session.ends()
            await seen.until(f.AssistantComplete)
            assert _texts(seen)[:2] == ["[1] a", "[1] b"]

    asyncio.run(run())


def test_a_piece_after_an_unread_batch_waits_for_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_turn(tmp_path / "db") as (_, _, _, talk, session), Watcher(talk) as seen:
            session.speaks("a", finishes=True)  # its end has to be committed
            session.calls_a_tool()
            session.prints()
            assert session.has_unread
            await seen.until(f.AssistantToolProgress)
            session.speaks("b", finishes=False)
            session.ends()
            await seen.until(f.AssistantComplete)
            kinds = [type(frame).__name__ for frame in seen.frames]
            assert kinds.index("AssistantToolCall") < kinds.index("AssistantToolProgress")
            assert [text for text in _texts(seen) if text == "[1] b"]

    asyncio.run(run())


def test_a_piece_after_the_end_of_the_reader_is_not_published(tmp_path: Path) -> None:
    async def run() -> None:
        async with running_turn(tmp_path / "db") as (_, _, _, talk, session), Watcher(talk) as seen:
            session.speaks("a", finishes=False)
            await seen.until(f.AssistantChunk)
            session.dies()
            session.speaks("late", finishes=False)
            await seen.until(f.AssistantComplete)
            assert "late" not in "".join(_texts(seen))

    asyncio.run(run())
