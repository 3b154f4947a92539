"""Entries are published after their commit; cursors of another log are reset."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from tests.engine.helpers.reconnecting_client import number_of
from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import Watcher, engine_on, talk_with
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f
from turnwire.engine.actor.commands import Answer
from turnwire.ports import Commit
from turnwire.stores.sqlite import SqliteStore


def test_every_published_entry_can_already_be_read_from_the_store(tmp_path: Path) -> None:
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


@pytest.mark.needs_sqlite(reason="opens a copy of the file")
def test_a_restored_log_has_another_epoch_and_resets_followers(tmp_path: Path) -> None:
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


def test_a_new_follower_is_admitted_at_once_while_entries_come_without_a_pause(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            commit, left = engine.store.commit, 200
            talk = await engine.create("demo", rules=Options(on_disconnect="continue"))
            await talk.send("hello")
            session = await agent.opened()
            begun = asyncio.Event()

            async def commit_and_say_more(made: Commit) -> None:
                nonlocal left
                await commit(made)
                if left:
                    left -= 1
                    session.calls_a_tool()  # so that something always waits
                    await asyncio.sleep(0.001)
                begun.set()

            engine.store.commit = commit_and_say_more  # type: ignore[method-assign, assignment]
            session.begins()
            session.calls_a_tool()
            await begun.wait()
            async with Watcher(talk):
                assert left > 100
            engine.store.commit = commit  # type: ignore[method-assign]

    asyncio.run(scene())


def test_an_accepted_message_stays_accepted_if_publishing_fails(tmp_path: Path) -> None:
    def fails(answer: Answer) -> None:
        raise RuntimeError("the client has gone")

    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(tmp_path / "turnwire.db", agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("first")
                (await agent.opened()).begins()
                accepted = await talk.telling(fails).send("second", client_message_id="c2")
                assert accepted.ack.queue_id is not None
                agent.sessions[0].ends()
                second = await seen.until(f.UserMessage, lambda frame: frame.turn_id == 2)
                assert second.payload.client_message_id == "c2"

    asyncio.run(scene())
