"""A server whose clients follow a conversation that another process runs, on one log."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.engine.helpers.watcher import Watcher, engine_on
from tests.server.helpers.servers import Serving, serving
from tests.server.helpers.socket_reader import PATIENCE
from turnwire.client import Client, ClientConversation
from turnwire.core.view import View
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk

Scene = Callable[[Talk, Watcher, Serving], Awaitable[None]]


def run_beside(path: Path, scene: Scene) -> None:
    """Runs a scene with a conversation of this engine, and a server on the same log."""

    async def run() -> None:
        async with engine_on(path / "turnwire.db") as engine, serving(path) as server:
            talk = await engine.create("demo", options={"delay": 0})
            async with Watcher(talk) as seen:
                await scene(talk, seen, server)

    asyncio.run(run())


async def ask(talk: Talk, seen: Watcher) -> str:
    """The id of a question that waits now."""
    await talk.send("question")
    asked = await seen.until(f.AssistantRequestInput)
    await seen.state("waiting_input")
    return asked.payload.question_id


def test_a_v2_client_sees_a_question_come_and_go(tmp_path: Path) -> None:
    async def scene(talk: Talk, seen: Watcher, server: Serving) -> None:
        async with server.client(talk.id) as client:
            question_id = await ask(talk, seen)
            waits = await client.state("waiting_input")
            assert [each["request_id"] for each in waits["payload"]["requests"]] == [question_id]
            await talk.answer(question_id, "Blue")
            await seen.until(f.AssistantComplete)
            await seen.state("active")
            over = await client.until(
                "session.state", lambda frame: frame["payload"].get("last_turn_id") == 1
            )
            assert (over["payload"]["running"], over["payload"]["requests"]) == (False, [])
            assert client.numbers() == [*range(1, seen.view().cursor + 1)]
            assert client.view().messages == seen.view().messages
            assert client.view().turns == seen.view().turns

    run_beside(tmp_path, scene)


def test_an_rpc_client_is_asked_and_the_request_is_withdrawn(tmp_path: Path) -> None:
    async def scene(talk: Talk, seen: Watcher, server: Serving) -> None:
        async with server.rpc() as client:
            joined = await client.call("connect", conversation=talk.id, system_messages=True)
            await client.answer(joined)
            question_id = await ask(talk, seen)
            call = await client.called("askUserQuestion")
            assert call["params"]["request_id"] == question_id
            await talk.answer(question_id, "Blue")
            result = await client.said("result")
            assert result["data"]["subtype"] == "success"
            await client.find(lambda each: each == {"type": "cancel", "id": call["id"]})
            assert client.numbers() == [*range(1, seen.view().cursor + 1)]
            streamed = [each for each in client.frames if each.get("type") == "stream"]
            assert {each["id"] for each in streamed} == {joined}

    run_beside(tmp_path, scene)


def test_the_client_of_the_package_shows_the_same_as_the_owner(tmp_path: Path) -> None:
    async def shows(client: ClientConversation, view: View) -> None:
        async with asyncio.timeout(PATIENCE):
            async for _ in client:
                mine = client.view()
                if (mine.cursor, mine.status) == (view.cursor, view.status):
                    assert (mine.messages, mine.turns) == (view.messages, view.turns)
                    return

    async def scene(talk: Talk, seen: Watcher, server: Serving) -> None:
        async with Client(server.url, server.token).conversation(talk.id) as client:
            await client.connected.wait()
            question_id = await ask(talk, seen)
            await shows(client, seen.view())
            await talk.answer(question_id, "Blue")
            await seen.until(f.AssistantComplete)
            await seen.state("active")
            await shows(client, seen.view())

    run_beside(tmp_path, scene)
