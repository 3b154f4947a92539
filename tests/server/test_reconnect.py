"""Clients disconnect at any moment and reconnect: no gap, no repeat, the same conversation."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.recorded_streams import FIXTURES
from tests.server.helpers.reconnects import drop_and_return, until_all_is_there
from tests.server.helpers.servers import Process, Serving, process, serving
from tests.server.helpers.v2_client import PATIENCE, Client, Frame, some_answer
from turnwire.agents.demo import DemoAgent
from turnwire.agents.recording import turns_of
from turnwire.agents.replay import ReplayAgent

# Some of them: tests/server/test_golden_transcripts.py drops at every frame of every golden transcript.
RECORDINGS = sorted(
    path.name
    for path in (FIXTURES / "claude").glob("*.jsonl")
    if not path.name.endswith(".io.jsonl")
)[1::4]
MOST = 150  # clients at once


async def drive(client: Client, prompts: list[str]) -> None:
    """Sends these messages one after the other, and answers every request."""
    for number, prompt in enumerate(prompts, 1):
        await client.say(prompt, f"m-{number}")
        while True:
            frame = await client.next()
            await _reply(client, frame)
            if _is_over(frame, number):
                break


def _is_over(frame: Frame, turns: int) -> bool:
    payload = frame["payload"]
    return (
        frame["type"] == "session.state"
        and payload.get("last_turn_id", 0) >= turns
        and not payload["running"]
        and not payload.get("background_tasks")
    )


async def _reply(client: Client, frame: Frame) -> None:
    payload = frame["payload"]
    if frame["type"] == "assistant.request_input":
        reply = {"question_id": payload["question_id"], "answer": some_answer(payload)}
        await client.send("user.input_response", **reply)
    elif frame["type"] == "assistant.permission_request":
        request = payload["request_id"]
        await client.send("user.permission_response", request_id=request, decision="allow")


async def settled(server: Serving, name: str) -> None:
    """Waits until no turn runs."""
    async with asyncio.timeout(PATIENCE):
        while (now := await server.service.engine.status(name)).running or now.background_tasks:
            await asyncio.to_thread(int)


async def drop_at_every_boundary(server: Serving | Process, prompts: list[str]) -> None:
    name = await server.begin()
    pilot = await server.client(name).come()
    await drive(pilot, prompts)
    await pilot.leave()
    count = min(len(pilot.frames), MOST)
    name = await server.begin()
    clients = [await server.client(name).come() for _ in range(count)]
    over = asyncio.Event()
    tasks = [
        asyncio.create_task(drop_and_return(client, number, over))
        for number, client in enumerate(clients)
    ]
    async with server.client(name) as witness:
        await drive(witness, prompts)
        over.set()
        await asyncio.gather(*tasks)
        if isinstance(server, Serving):  # an agent may report of background work by itself
            await settled(server, name)
        for client in (witness, *clients):
            await until_all_is_there(client, 0)
        seen = witness.view()
    for number, client in enumerate(clients):
        await client.leave()
        view = client.view()
        assert client.numbers() == witness.numbers(), f"dropped after {number} frames"
        assert view.messages == seen.messages, f"dropped after {number} frames"
        assert view.turns == seen.turns
        assert view.plan == seen.plan
        client.check()


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_recorded_session_with_a_drop_at_every_frame(tmp_path: Path, recording: str) -> None:
    path = FIXTURES / "claude" / recording
    turns = len(turns_of(path))

    async def run() -> None:
        agents = {"demo": ReplayAgent(path, speed=200)}
        async with serving(tmp_path, agents=agents, frames_at_once=10_000) as server:
            await drop_at_every_boundary(server, [f"turn {n}" for n in range(1, turns + 1)])

    asyncio.run(run())


@pytest.mark.parametrize("prompt", ["question", "permission"])
def test_the_demo_with_a_drop_at_every_frame(tmp_path: Path, prompt: str) -> None:
    with process(tmp_path, TURNWIRE_AGENTS="tests.server.helpers.quick_demo:make") as server:
        asyncio.run(drop_at_every_boundary(server, [prompt]))


# --- places in the log -----------------------------------------------------------------------------


def test_a_long_log_is_replayed_whole(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path, frames_at_once=10_000) as server:
            name = await server.begin()
            async with server.client(name) as client:
                for number in range(1, 36):  # a plan has many entries
                    await client.say("plan", f"m-{number}")
                    await client.end_of(number)
                head = client.cursor
            assert head > 500, "more than a page"
            async with server.client(name) as newcomer:
                assert newcomer.numbers() == list(range(1, head + 1))
                assert newcomer.view().messages == client.view().messages
                assert newcomer.view().turns == client.view().turns

    asyncio.run(run())


def test_a_tail_is_enough(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server, server.http() as http:
            name = await server.begin()
            async with server.client(name) as client:
                for number in range(1, 6):
                    await client.say("hello", f"m-{number}")
                    await client.end_of(number)
                await client.state("active")
                head = client.cursor
            late = server.client(name)
            await late.come(tail=4)
            assert late.numbers() == list(range(head - 3, head + 1))
            assert late.frames[0]["payload"]["first"] == head - 3
            answer = await http.get(
                f"/api/conversations/{name}/messages", params={"before": head - 3, "limit": 3}
            )
            older = [each for each in answer.json()["messages"] if each["message_sequence"]]
            assert [each["message_sequence"] for each in older] == list(range(head - 6, head - 3))
            replayed = {
                frame["payload"]["message_sequence"]: frame["payload"]["event"]
                for frame in (await _all_frames(server, name))
                if frame["type"] == "message.replay"
            }
            assert all(each["event"] == replayed[each["message_sequence"]] for each in older)
            await late.leave()
            late.check()

    asyncio.run(run())


async def _all_frames(server: Serving, name: str) -> list[Frame]:
    async with server.client(name) as client:
        return client.frames


def test_a_cursor_of_another_log_is_void(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            name = await server.begin()
            async with server.client(name) as client:
                await client.say("hello", "m-1")
                await client.end_of(1)
                await client.state("active")
            places: list[tuple[dict[str, Any], str]] = [
                ({"last_sequence": 2, "epoch": "another"}, "epoch"),
                ({"last_sequence": 99}, "beyond_head"),
                ({"last_sequence": 1, "tail": 1}, "tail"),
            ]
            for place, reason in places:
                other = server.client(name)
                await other.come(**place)
                kinds = [frame["type"] for frame in other.frames[:2]]
                assert kinds == ["session.connected", "session.reset"]
                assert other.frames[1]["payload"]["reason"] == reason
                await other.leave()
                other.check()
            other = server.client(name)
            await other.come(last_sequence=2, epoch=client.epoch)
            assert other.frames[0]["type"] == "session.resumed"
            assert other.numbers() == [3]
            await other.leave()
            other.check()

    asyncio.run(run())


def test_a_message_whose_ack_was_lost_is_sent_again(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(tmp_path) as server:
            client = await server.client(await server.begin()).come()
            await client.say("hello", "m-1")
            await client.next()
            client.drop()
            await client.come()
            await client.say("hello", "m-1")
            ack = await client.answer("m-1")
            assert ack["payload"]["duplicate"] or ack["payload"]["turn_id"] == 1
            while not client.view().turns:
                await client.next()
            assert [turn.turn_id for turn in client.view().turns] == [1]
            await client.leave()

    asyncio.run(run())


# --- without followers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["converge", "continue"])
def test_when_the_last_client_leaves(tmp_path: Path, policy: str) -> None:
    async def run() -> None:
        agents = {"demo": DemoAgent(delay=0.002)}
        async with serving(
            tmp_path, agents=agents, on_disconnect=policy, disconnect_grace=0.1
        ) as server:
            name = (await server.service.engine.create("demo")).id
            client = await server.client(name).come()
            await client.say("long", "m-1")
            await client.until("assistant.chunk")
            client.drop()
            async with asyncio.timeout(180):
                while (await server.service.engine.status(name)).running:
                    await asyncio.to_thread(lambda: None)
            await client.come()
            [turn] = client.view().turns
            assert turn.end.interrupted is (policy == "converge")
            if policy == "converge":
                stopped = next(
                    frame["payload"]["event"]["payload"]
                    for frame in client.frames
                    if frame["type"] == "message.replay"
                    and frame["payload"]["event"]["type"] == "conversation.interrupted"
                )
                assert stopped["reason"] == "disconnect"
            await client.leave()
            client.check()

    asyncio.run(run())


def test_a_client_that_comes_back_within_the_grace_finds_the_turn_running(tmp_path: Path) -> None:
    async def run() -> None:
        agents = {"demo": DemoAgent(delay=0.002)}
        async with serving(tmp_path, agents=agents, on_disconnect="converge") as server:
            name = (await server.service.engine.create("demo")).id
            client = await server.client(name).come()
            await client.say("long", "m-1")
            await client.until("assistant.chunk")
            client.drop()
            await client.come()
            assert not (await client.end_of(1))["payload"]["interrupted"]
            await client.leave()
            client.check()

    asyncio.run(run())
