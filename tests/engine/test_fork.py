"""Forks: the new conversation has the same beginning, and both go on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import Watcher, engine_on, talk_with
from turnwire.core.content import TextContent
from turnwire.core.error_codes import Refused
from turnwire.core.message import known_meta
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.ports import Store
from turnwire.stores.sqlite.fsck import check


async def says(talk: Talk, text: str) -> int:
    """Say something; the number of the last entry, when the turn is over."""
    async with Watcher(talk) as seen:
        turn_id = (await talk.send(text)).ack.turn_id
        end = await seen.until(f.AssistantComplete, lambda frame: frame.turn_id == turn_id)
        await seen.state("active")
    return end.payload.after_sequence


def is_sound(path: Path) -> bool:
    return not check(path, now=time.time_ns() // 1_000_000).findings


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_fork_and_its_parent_go_on_with_the_same_numbers(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            first = await says(talk, "think tool")
            second = await says(talk, "hello")
            fork = await talk.fork(first, user="ann")
            assert (fork.row.parent_id, fork.row.forked_at) == (talk.id, first)
            assert (fork.row.title, fork.row.options) == ("think tool", talk.row.options)
            both = [
                await engine.store.entries(name, before=first + 1) for name in (talk.id, fork.id)
            ]
            said = [[each.entry.parts for each in entries] for entries in both]
            assert said[0] == said[1]
            third = await says(fork, "another way")
            assert third > first
            assert (await fork.status()).last_turn_id == 2
            assert (await engine.open(talk.id)).row.head == second
            again = await fork.fork(title="A third one")
            assert (again.row.parent_id, again.row.forked_at) == (fork.id, third)
            assert again.row.title == "A third one"
        assert is_sound(path)

    asyncio.run(scene())


def test_a_fork_repeats_the_description_of_the_agent_and_the_next_server_does_not(
    path: Path,
) -> None:
    async def inits(store: Store, name: str) -> list[int]:
        metas = {each.sequence: known_meta(each.entry) for each in await store.entries(name)}
        return [n for n, meta in metas.items() if meta.data and meta.data.get("subtype") == "init"]

    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            first = await says(talk, "hello")
            (told,) = await inits(engine.store, talk.id)
        async with engine_on(path) as engine:
            talk = await engine.open(talk.id)
            await says(talk, "hello")
            assert await inits(engine.store, talk.id) == [told]
            fork = await talk.fork(first)
            await says(fork, "hello")
            before, after = await inits(engine.store, fork.id)
            assert before == told <= first < after

    asyncio.run(scene())


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_fork_of_a_running_turn_has_the_finished_entries_only(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            first = await says(talk, "hello")
            async with Watcher(talk) as seen:
                await talk.send("question")
                asked = await seen.until(f.AssistantRequestInput)
                await talk.send("later")
                fork = await talk.fork()
                assert fork.row.forked_at == first
                status = await fork.status()
                assert (status.state, status.queue, status.requests) == ("active", [], [])
                with pytest.raises(Refused) as refused:
                    await talk.fork(first + 1)
                assert refused.value.code == "NOT_A_FORK_POINT"
                assert refused.value.data["nearest"] == [first]
                with pytest.raises(Refused):
                    await talk.fork(10_000)
                await talk.answer(asked.payload.question_id, "Blue")
                await seen.until(f.AssistantComplete)
            await says(fork, "hello again")
        assert is_sound(path)

    asyncio.run(scene())


def test_the_first_message_can_be_said_otherwise(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            await says(talk, "hello")
            fork = await talk.fork(0)
            assert (fork.row.head, fork.row.title, fork.row.native_from) == (0, None, None)
            await says(fork, "good morning")
            assert (await engine.open(fork.id)).row.title == "good morning"

    asyncio.run(scene())


@pytest.mark.needs_sqlite(reason="looks into the file")
def test_a_late_answer_in_a_fork_is_refused_as_late(path: Path) -> None:
    async def scene() -> None:
        async with engine_on(path) as engine:
            talk = await talk_with(engine)
            async with Watcher(talk) as seen:
                await talk.send("question")
                asked = (await seen.until(f.AssistantRequestInput)).payload.question_id
                await talk.answer(asked, "Blue")
                await seen.until(f.AssistantComplete)
                await seen.state("active")
            fork = await talk.fork()
            with pytest.raises(Refused) as refused:
                await fork.answer(asked, "Red")
            assert refused.value.code == "DUPLICATE_INPUT_RESPONSE"
        assert is_sound(path)

    asyncio.run(scene())


def test_the_agent_of_a_fork_learns_where_its_session_begins(path: Path) -> None:
    class Forking(ScriptedAgent):
        def __init__(self) -> None:
            super().__init__()
            self.capabilities = type(self.capabilities)(forks=True)

    async def scene() -> None:
        agent = Forking()
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create(next(iter(engine.agents)))
            async with Watcher(talk) as seen:
                await talk.send([TextContent("hello")])
                session = await agent.opened()
                session.begins()
                session.ends()
                await seen.until(f.AssistantComplete)
            fork = await talk.fork()
            native = fork.row.native_from
            assert native is not None
            assert (native.session_id, native.turn_uuid) == ("scripted-1", f"{talk.id}:1")
            again = await fork.fork()
            assert again.row.native_from is not None
            assert again.row.native_from.session_id == "scripted-1", "it has none of its own yet"

    asyncio.run(scene())
