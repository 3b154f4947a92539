"""The public API: one import line, and the shortest programs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.server.helpers.servers import serving
from tests.server.helpers.v2_client import PATIENCE
from turnwire import (
    ClaudeAgent,
    Client,
    DemoAgent,
    Engine,
    OpenRequest,
    Refused,
    Settings,
    SqliteStore,
    TurnwireError,
    create_app,
    frames,
)
from turnwire.client import conversation


def test_one_import_line_is_enough_for_agents_stores_engines_servers_and_clients() -> None:
    assert (ClaudeAgent.name, DemoAgent.name) == ("claude", "demo")
    assert frames.AssistantComplete.__name__ == "AssistantComplete"
    assert callable(create_app)
    assert Settings().port


def test_a_message_to_an_agent_takes_three_lines(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            SqliteStore.open(tmp_path / "talk.db") as store,
            Engine(store, {"demo": DemoAgent(delay=0)}) as engine,
        ):
            talk = await engine.create("demo")
            reply = await talk.ask("use a tool")
            assert reply.text.startswith("I will look at the files first.")
            [tool] = reply.tools
            assert tool.input
            assert "README.md" in str(tool.result)
            assert (tool.is_error, reply.is_error, reply.was_interrupted) == (False, False, False)
            assert reply.end is not None
            assert reply.end.stop_reason == "end_turn"
            kinds = [type(frame) for frame in reply.frames]
            assert kinds[0] is frames.UserMessage
            assert kinds[-1] is frames.AssistantComplete
            second = await talk.ask("hello")
            assert second.turn_id == reply.turn_id + 1
            assert second.cursor > reply.cursor

    asyncio.run(run())


def test_a_reply_that_waits_for_a_person_goes_on_with_their_answer(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            SqliteStore.open(tmp_path / "talk.db") as store,
            Engine(store, {"demo": DemoAgent(delay=0)}) as engine,
        ):
            talk = await engine.create("demo")
            reply = await talk.ask("a question and a permission")
            assert reply.end is None
            [question] = reply.requests
            await talk.answer(question.request_id, "Blue")
            reply = await talk.wait(reply)
            [permission] = reply.requests
            assert permission.kind == "permission"
            await talk.decide(permission.request_id, "allow")
            reply = await talk.wait(reply)
            assert reply.end is not None
            assert await talk.wait(reply) is reply

    asyncio.run(run())


def test_a_function_answers_the_questions_of_the_agent(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            SqliteStore.open(tmp_path / "talk.db") as store,
            Engine(store, {"demo": DemoAgent(delay=0)}) as engine,
        ):
            talk = await engine.create("demo")
            asked: list[str] = []

            async def answer(request: OpenRequest) -> None:
                asked.append(request.kind)
                if request.kind == "question":
                    await talk.answer(request.request_id, "Blue")
                else:
                    await talk.decide(request.request_id, "deny", reason="Not now.")

            reply = await talk.ask("a question and a permission", on_request=answer)
            assert asked == ["question", "permission"]
            assert reply.end is not None
            assert [tool.is_error for tool in reply.tools] == [True]

    asyncio.run(run())


def test_a_message_that_is_refused_raises(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            SqliteStore.open(tmp_path / "talk.db") as store,
            Engine(store, {"demo": DemoAgent(delay=0)}) as engine,
        ):
            talk = await engine.create("demo")
            with pytest.raises(Refused):
                await talk.ask("")

    asyncio.run(run())


def test_the_same_message_sent_again_has_the_same_reply(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            SqliteStore.open(tmp_path / "talk.db") as store,
            Engine(store, {"demo": DemoAgent(delay=0)}) as engine,
        ):
            talk = await engine.create("demo")
            first = await talk.ask("hello", client_message_id="m-1")
            again = await asyncio.wait_for(talk.ask("hello", client_message_id="m-1"), PATIENCE)
            assert (again.turn_id, again.text) == (first.turn_id, first.text)

    asyncio.run(run())


def test_a_message_that_is_removed_from_the_queue_raises(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            SqliteStore.open(tmp_path / "talk.db") as store,
            Engine(store, {"demo": DemoAgent(delay=0)}) as engine,
        ):
            talk = await engine.create("demo")
            await talk.ask("a question")  # its turn waits, so the next message is queued
            waiting = asyncio.create_task(talk.ask("hello"))
            async with asyncio.timeout(PATIENCE):
                while not (queue := (await talk.status()).queue):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            await talk.change_queue("remove", queue[0].queue_id)
            with pytest.raises(Refused) as refused:
                await asyncio.wait_for(waiting, PATIENCE)
            assert refused.value.code == "QUEUE_ITEM_NOT_FOUND"

    asyncio.run(run())


def test_an_engine_that_stops_ends_the_wait_for_a_reply(tmp_path: Path) -> None:
    async def run() -> None:
        async with SqliteStore.open(tmp_path / "talk.db") as store:
            engine = Engine(store, {"demo": DemoAgent(delay=0)})
            await engine.start()
            talk = await engine.create("demo")
            reply = await talk.ask("a question")
            waiting = asyncio.create_task(talk.wait(reply))
            await asyncio.sleep(0)
            await engine.stop()
            with pytest.raises(TurnwireError):
                await asyncio.wait_for(waiting, PATIENCE)

    asyncio.run(run())


def test_a_client_asks_over_the_network_as_short(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, Client(server.url, server.token) as client:
            name = await client.create("demo", options={"delay": 0})
            async with client.conversation(name) as talk:
                reply = await talk.ask("use a tool")
                assert reply.tools
                reply = await talk.ask("a question and a permission")
                [question] = reply.requests
                await talk.answer(question.request_id, "Blue")
                reply = await talk.wait(reply)
                [permission] = reply.requests
                await talk.decide(permission.request_id, "allow")
                reply = await talk.wait(reply)
                assert reply.end is not None
                assert await talk.wait(reply) is reply

    asyncio.run(run())


def test_a_client_answers_with_a_plain_function(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, Client(server.url, server.token) as client:
            name = await client.create("demo", options={"delay": 0})
            async with client.conversation(name) as talk:
                answers: set[asyncio.Task[object]] = set()

                def answer(request: OpenRequest) -> None:
                    answers.add(asyncio.create_task(talk.answer(request.request_id, "Blue")))

                reply = await talk.ask("a question", on_request=answer)
                assert reply.end is not None
                assert len(answers) == 1

    asyncio.run(run())


def test_a_client_may_ask_in_a_loop_over_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "_WAITING", 5)  # frames that wait before reading stops

    async def run() -> None:
        async with serving(tmp_path) as server, Client(server.url, server.token) as client:
            name = await client.create("demo", options={"delay": 0})
            async with client.conversation(name) as talk:
                async for _ in talk:
                    reply = await asyncio.wait_for(talk.ask("use a tool"), PATIENCE)
                    assert reply.end is not None
                    break

    asyncio.run(run())


def test_a_second_wait_after_a_client_has_left_raises_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, Client(server.url, server.token) as client:
            name = await client.create("demo", options={"delay": 0})
            async with client.conversation(name) as talk:
                reply = await talk.ask("a question")
            for _ in range(2):
                with pytest.raises(TurnwireError):
                    await asyncio.wait_for(talk.wait(reply), PATIENCE)

    asyncio.run(run())


def test_frames_after_a_reply_without_an_end_come_to_a_later_loop(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, Client(server.url, server.token) as client:
            name = await client.create("demo", options={"delay": 0})
            async with client.conversation(name) as talk:
                reply = await talk.ask("a question")
                await talk.answer(reply.requests[0].request_id, "Blue")
                await talk.send("hello")
                ends = []
                async with asyncio.timeout(PATIENCE):
                    async for frame in talk:
                        if isinstance(frame, frames.AssistantComplete):
                            ends.append(frame.turn_id)
                        if len(ends) == 2:
                            break
                assert ends == [1, 2]

    asyncio.run(run())
