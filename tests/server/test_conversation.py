"""A conversation over a real WebSocket has the frames that the page documents."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.server.helpers.servers import Process, process, serving


def test_a_question_and_its_answer(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, server.client(await server.begin()) as client:
            await client.say("hello", "m-1")
            ack = await client.answer("m-1")
            assert ack["type"] == "user.message.ack"
            assert ack["payload"] == {"client_message_id": "m-1", "turn_id": 1}
            await client.end_of(1)
            await client.state("active")
            assert client.numbers() == [1, 2, 3]

    asyncio.run(run())


@pytest.mark.parametrize("prompt", ["hello", "everything", "tool plan subagent", "error"])
def test_the_scenes_of_the_demo_break_no_rule(tmp_path: Path, prompt: str) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, server.client(await server.begin()) as client:
            await client.say(prompt, "m-1")
            while True:
                frame = await client.next()
                payload = frame["payload"]
                if frame["type"] == "assistant.request_input":
                    question = payload["question_id"]
                    await client.send("user.input_response", question_id=question, answer="Blue")
                elif frame["type"] == "assistant.permission_request":
                    request = payload["request_id"]
                    await client.send(
                        "user.permission_response", request_id=request, decision="allow"
                    )
                elif frame["type"] == "session.state" and (
                    payload.get("last_turn_id")
                    and not payload.get("background_tasks")
                    and not payload["running"]
                ):
                    break

    asyncio.run(run())


def test_two_clients_are_in_step(tmp_path: Path) -> None:
    async def run(server: Process) -> None:
        name = await server.begin()
        async with server.client(name) as one, server.client(name) as two:
            await one.say("think and use a tool", "m-1")
            for client in (one, two):
                await client.end_of(1)
                await client.state("active")
            assert one.view().messages == two.view().messages
            assert one.numbers() == two.numbers() == list(range(1, one.cursor + 1))

    with process(tmp_path) as server:
        asyncio.run(run(server))
