"""A node that drains: its conversations go to other nodes, and its running turns may end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.helpers.watcher import PATIENCE, Watcher
from tests.engine.nodes.two_engines import two_engines
from turnwire.agents.demo import DemoAgent
from turnwire.core.conversation.state import Options
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.engine.settings import EngineSettings

LONG = 600.0  # seconds; longer than any test
KEEPS_QUEUE = Options(on_disconnect="continue")
# What is seen soon was not read from the log, and was not found because a node has left.
QUICK = EngineSettings(recheck=600.0, options=KEEPS_QUEUE)


async def until(is_true: Callable[[], bool]) -> None:
    """Waits for a condition that other tasks of this event loop make true."""
    async with asyncio.timeout(PATIENCE):
        while not is_true():  # noqa: ASYNC110  # no event tells of it
            await asyncio.sleep(0.01)


async def owner_of(engine: Engine, conversation_id: str) -> str | None:
    row = await engine.store.conversation(conversation_id)
    assert row is not None
    return row.owner


def test_an_idle_conversation_is_free_at_once_and_its_follower_is_told_to_follow_again(
    path: Path,
) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            watcher = Watcher(talk)
            async with asyncio.timeout(PATIENCE), watcher:
                await talk.wake()
                assert await owner_of(two.a, talk.id) == two.a.owner
                await two.a.drain(LONG)
                assert await owner_of(two.a, talk.id) is None
                await watcher.ends()
            await (await two.b.open(talk.id)).wake()
            assert await owner_of(two.a, talk.id) == two.b.owner

    asyncio.run(scene())


def test_a_running_turn_ends_before_its_conversation_is_released(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            async with Watcher(await two.b.open(talk.id)) as far:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                await far.state("streaming")
                draining = asyncio.create_task(two.a.drain(LONG))
                await until(lambda: two.a._ownership.is_draining)
                session.speaks("Done.", finishes=True)
                session.ends()
                async with asyncio.timeout(PATIENCE):
                    await draining
                await far.until(f.AssistantComplete)
                await far.state("active")
            turns = await two.b.store.turns(talk.id)
            assert [turn.end.error for turn in turns] == [None]
            assert await owner_of(two.b, talk.id) is None

    asyncio.run(scene())


def test_a_turn_that_outlasts_the_grace_is_ended_as_stopped(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            await talk.send("hello")
            session = await two.agent_a.opened()
            session.begins()
            await two.a.drain(0.05)
            assert session.is_alive
            await two.a.stop()
            assert not session.is_alive
            [turn] = await two.b.store.turns(talk.id)
            assert turn.end.error is not None
            assert turn.end.error.code == "server_stopped"

    asyncio.run(scene())


def test_a_turn_that_only_waits_for_a_person_does_not_delay_the_drain(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            async with Watcher(await two.b.open(talk.id)) as far:
                await talk.send("hello")
                session = await two.agent_a.opened()
                session.begins()
                session.asks()
                asked = await far.state("waiting_input")
                async with asyncio.timeout(PATIENCE):
                    await two.a.drain(LONG)
                [question] = asked.payload.requests
                await (await two.b.open(talk.id)).answer(question.request_id, "tea")
                await until(lambda: any(each.in_turn for each in two.agent_b.live))
                two.agent_b.live[-1].ends()
                await far.until(f.AssistantComplete)

    asyncio.run(scene())


def test_a_queue_goes_on_at_another_node_when_the_running_turn_has_ended(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path, settings=QUICK) as two:
            talk = await two.a.create("scripted")
            for text in ("first", "second"):
                await talk.send(text)
            session = await two.agent_a.opened()
            session.begins()
            draining = asyncio.create_task(two.a.drain(LONG))
            await until(lambda: two.a._ownership.is_draining)
            session.ends()
            async with asyncio.timeout(PATIENCE):
                await draining
                other = await two.agent_b.opened()
            async with Watcher(await two.b.open(talk.id)) as far:
                other.begins()
                other.ends()
                await far.until(f.AssistantComplete, lambda end: end.turn_id == 2)
            turns = await two.b.store.turns(talk.id)
            assert [turn.end.error for turn in turns] == [None, None]

    asyncio.run(scene())


def test_without_a_message_of_the_leaving_node_its_queue_is_found_as_well(path: Path) -> None:
    async def scene() -> None:
        settings = EngineSettings(recheck=0.05, options=KEEPS_QUEUE)
        async with two_engines(path, settings=settings) as two:
            assert two.a.cluster is not None
            talk = await two.a.create("scripted")
            for text in ("first", "second"):
                await talk.send(text)
            session = await two.agent_a.opened()
            session.begins()
            await until(lambda: two.a.owner in two.b._recovery._nodes)
            two.a.cluster.transfers._tell = lambda inbox: None  # type: ignore[method-assign]
            await two.a.stop()
            async with asyncio.timeout(PATIENCE):
                other = await two.agent_b.opened()
            other.begins()
            other.ends()

    asyncio.run(scene())


def test_a_command_to_a_node_that_drains_is_carried_out_by_another(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            await two.a.drain(LONG)
            async with asyncio.timeout(PATIENCE):
                await talk.send("hello", client_message_id="m1")
                await two.agent_b.opened()
            assert await owner_of(two.a, talk.id) == two.b.owner
            assert not two.agent_a.sessions

    asyncio.run(scene())


def test_no_command_is_lost_that_comes_while_its_conversation_is_released(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path, settings=QUICK) as two:
            talks = [await two.a.create("scripted") for _ in range(20)]
            for talk in talks:
                await talk.wake()
            sending = [
                asyncio.create_task(talk.send("hello", client_message_id="m1")) for talk in talks
            ]
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(two.a.drain(0.05), *sending)
            await two.a.stop()
            for talk in talks:
                entries = await two.b.store.entries(talk.id)
                said = [each for each in entries if each.entry.role == "user"]
                assert len(said) == 1

    asyncio.run(scene())


def test_no_turn_is_interrupted_that_begins_when_a_drain_begins(path: Path) -> None:
    async def scene() -> None:
        def demo() -> DemoAgent:
            return DemoAgent(delay=0)

        async with two_engines(path, settings=QUICK, agent=demo) as two:
            talks = [await two.a.create("demo") for _ in range(20)]
            for talk in talks:
                await talk.wake()

            async def send(number: int) -> None:
                for _ in range(number):  # at another moment each
                    await asyncio.sleep(0)
                await talks[number].send("hello", client_message_id="m1")

            sending = [asyncio.create_task(send(number)) for number in range(20)]
            await asyncio.sleep(0)
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(two.a.drain(LONG), *sending)
                for talk in talks:
                    while not (turns := await two.b.store.turns(talk.id)):
                        pass
                    assert [turn.end.error for turn in turns] == [None]

    asyncio.run(scene())


def test_a_node_without_others_refuses_commands_while_it_drains(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            await two.b.stop()
            await two.a.drain(LONG)
            with pytest.raises(Refused) as refused:
                await talk.send("hello")
            assert refused.value.code == "STORAGE_UNAVAILABLE"
            assert refused.value.retryable

    asyncio.run(scene())


def test_a_node_that_drains_says_so_in_the_store(path: Path) -> None:
    async def scene() -> None:
        async with two_engines(path) as two:
            talk = await two.a.create("scripted")
            await talk.send("hello")
            session = await two.agent_a.opened()
            session.begins()
            draining = asyncio.create_task(two.a.drain(LONG))

            async def load() -> dict[str, int]:
                nodes = {node.owner: node.load for node in await two.b.store.nodes()}
                return nodes[two.a.owner]

            async with asyncio.timeout(PATIENCE):
                while not (await load()).get("draining"):
                    pass
            now = await load()
            assert (now["conversations"], now["turns"], now["agents"]) == (1, 1, 1)
            assert await two.b.has_other_nodes() is False
            session.ends()
            await draining

    asyncio.run(scene())
