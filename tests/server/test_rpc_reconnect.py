"""RPC clients that lose their connection or their server, or read slowly, miss nothing."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.helpers.recorded_streams import check_order
from tests.helpers.shown_content import all_messages, shown_in
from tests.server.helpers.frame_checks import play
from tests.server.helpers.rpc_client import Frame, RpcClient
from tests.server.helpers.rpc_views import check_same, ends, everything
from tests.server.helpers.servers import Process, Serving, port_of, process
from tests.server.helpers.v2_client import PATIENCE
from turnwire.agents.demo import DemoAgent
from turnwire.core.view import TextView, View
from turnwire.dialects import rpc


def stream_events(frames: list[Frame]) -> list[rpc.RpcMessage]:
    messages = [rpc.decode(msgspec.json.encode(f["data"])) for f in frames if "data" in f]
    return [each for each in messages if isinstance(each, rpc.messages.RpcStreamEvent)]


def growing(view: View) -> str:
    """The text that is being said."""
    texts = [
        block.text
        for message in all_messages(view)
        for block in message.blocks
        if isinstance(block, TextView) and block.status == "streaming"
    ]
    return "".join(texts)


@pytest.mark.parametrize("after", [1, 3, 10, 40])
def test_a_stream_goes_on_without_a_gap(tmp_path: Path, after: int) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0.003)
        async with server.client(name) as witness, server.rpc() as client:
            await client.join(name)
            await client.call("query", prompt="think, use a tool, be long and ask")
            for _ in range(after):
                await client.said("stream_event")
            client.drop()
            await client.come()
            joined = await client.join(name)
            assert joined["resumed"]
            assert joined["status"]["running"]
            call = await client.called()
            await client.send({"id": call["id"], "result": {"answer": "Blue"}})
            ended = await client.said("result")
            assert ended["turn_id"] == 1
            await witness.end_of(1)
            await everything(witness, client)
            check_same(client.view(), witness.view())
            check_order(stream_events(client.frames))

    play(tmp_path, scene)


def test_every_cursor_gets_exactly_the_later_entries(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client, server.rpc() as again:
            joined = await client.join(options={"delay": 0})
            name = joined["conversation"]
            await client.query("think, use a tool and send a helper")
            whole = [f for f in client.frames if f.get("sequence") is not None]
            for place in range(client.cursor + 1):
                come = await again.join(name, last_sequence=place, epoch=joined["epoch"])
                assert (come["resumed"], come["first"]) == (place > 0, place + 1)
                await again.result("disconnect")
                rest = [f for f in again.frames if f.get("sequence") is not None]
                assert [(f["sequence"], f["data"]) for f in rest] == [
                    (f["sequence"], f["data"]) for f in whole if f["sequence"] > place
                ]
                again.frames.clear()
                again._read = 0

    play(tmp_path, scene)


def test_at_every_frame_of_a_running_stream_another_can_take_it_up(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0.01)
        async with AsyncExitStack() as held:
            first = await held.enter_async_context(server.rpc())
            await first.join(name)
            others: list[RpcClient] = []
            await first.call("query", prompt="think, use a tool, then be long")
            while len(others) < 30 or first.cursor < 4:
                await first.next()
                other = await held.enter_async_context(server.rpc())
                other.transcript = deepcopy(first.transcript)  # as if it had lost its line now
                other.cursor, other.epoch = first.cursor, first.epoch
                await other.join(name)
                others.append(other)
            await first.result("interrupt")
            for client in (first, *others):
                while not client.view().turns:
                    await client.next()
                assert client.view().messages == first.view().messages
                assert client.numbers() == [n for n in first.numbers() if n >= client.numbers()[0]]
            places = {other.numbers()[0] for other in others}
            assert len(places) > 2, "they came at different places of the log"

    play(tmp_path, scene)


def test_the_growing_text_is_shown_at_once_after_a_reconnect(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0.02)
        async with server.rpc() as first, server.rpc() as second:
            await first.join(name)
            await first.call("query", prompt="long")
            while len(growing(first.view())) < 200:
                await first.next()
            heard = growing(first.view())
            await second.join(name)
            await second.said("stream_event", lambda data: "delta" in data["event"])
            assert growing(second.view()).startswith(heard)
            model = second.streamed("stream_event")[0]["event"]["message"]["model"]
            assert model == "demo"
            await second.result("interrupt")
            for client in (first, second):
                await client.said("result")
            assert second.view().messages == first.view().messages
            check_order(stream_events(second.frames))

    play(tmp_path, scene)


def test_a_query_sent_again_after_the_line_broke_goes_on_under_its_new_id(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0.003)
        async with server.rpc() as client:
            await client.join(name)
            await client.call("query", prompt="hello", client_message_id="m-1")
            await client.call("query", prompt="long and ask", client_message_id="m-2")
            await client.said("user", lambda data: "long" in str(data))
            await client.said("stream_event")
            client.drop()
            await client.come()
            await client.join(name)
            again = await client.call("query", prompt="long and ask", client_message_id="m-2")
            call = await client.called()
            await client.send({"id": call["id"], "result": {"answer": "Blue"}})
            frames = await client.stream(again)
            assert frames[-1]["data"]["type"] == "result"
            over = await client.call("query", prompt="hello", client_message_id="m-1")
            assert await client.stream(over) == []
            assert [turn.turn_id for turn in client.view().turns] == [1, 2]

    play(tmp_path, scene)


def test_a_turn_that_ended_meanwhile_is_ended_once(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.rpc() as client, server.rpc() as other:
            await other.join(name)
            await client.join(name)
            await client.query("hello")
            client.drop()
            await other.query("tool")
            await client.come()
            joined = await client.join(name)
            assert joined["resumed"]
            while len(client.view().turns) < 2:
                await client.next()
            assert [turn.turn_id for turn in client.view().turns] == [1, 2]
            assert client.view().messages == other.view().messages
            assert ends(client.view()) == ends(other.view())

    play(tmp_path, scene)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ({"last_sequence": 2, "epoch": "another"}, "epoch"),
        ({"last_sequence": 10_000}, "beyond_head"),
        ({"last_sequence": 1, "tail": 2}, "tail"),
    ],
)
def test_a_cursor_of_another_log_is_reset_with_a_message(
    tmp_path: Path, place: dict[str, Any], reason: str
) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.rpc() as client, server.rpc() as other:
            await other.join(name)
            await other.query("tool")
            joined = await client.join(name, **place)
            assert (joined["reset"], joined["resumed"]) == (reason, False)
            await client.result("getCapabilities")
            if reason == "tail":
                assert client.numbers() == [joined["head"] - 1, joined["head"]]
            else:
                assert client.view().messages == other.view().messages

    play(tmp_path, scene)


def test_two_and_two_are_in_step(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin(delay=0.001)
        async with (
            server.rpc() as one,
            server.rpc() as two,
            server.client(name) as three,
            server.client(name) as four,
        ):
            for client in (one, two):
                await client.join(name)
            mine = await one.call("query", prompt="think")
            await two.call("query", prompt="tool")
            await three.say("helper", "m-3")
            await four.say("hello", "m-4")
            for v2 in (three, four):
                for turn in range(1, 5):
                    await v2.end_of(turn)
            for client in (one, two):
                while len(client.view().turns) < 4:
                    await client.next()
            await everything(three, one, two)
            await everything(four)
            for view in (one.view(), two.view(), four.view()):
                check_same(view, three.view())
            assert one.view().messages == two.view().messages
            assert one.numbers() == two.numbers()
            ids = {f["id"] for f in one.frames if f.get("type") == "stream"}
            joined = one.frames[0]["id"]
            assert ids == {mine, joined}, "what others started comes under the id of connect"

    play(tmp_path, scene)


def test_a_slow_reader_is_disconnected_and_reconnects(tmp_path: Path) -> None:
    agent = DemoAgent(delay=0, flood=40, flood_seconds=0.3)

    async def scene(server: Serving) -> None:
        name = (await server.service.engine.create("demo")).id
        slow: RpcClient = server.rpc()
        slow.ahead = 1
        await slow.come()
        await slow.join(name)
        async with server.rpc() as client:
            await client.join(name)
            await client.query("hello")
            assert await slow.until_closed() in (4001, 1006)
            await slow.come()
            await slow.join(name)
            await slow.result("getCapabilities")
            assert slow.view().messages == client.view().messages
        await slow.leave()

    play(tmp_path, scene, agents={"demo": agent}, buffer_bytes=10_000)


# --- the server is killed ---------------------------------------------------------------------------


async def come_again(client: RpcClient, url: str) -> None:
    client.address = url.replace("http", "ws", 1) + "/ws/rpc"
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await client.come()
                return
            except (OSError, InvalidHandshake, ConnectionClosed):
                await asyncio.to_thread(lambda: None)


@pytest.mark.parametrize("words", ["long", "think, use a tool, then be long"])
def test_a_client_reconnects_after_a_kill_during_a_stream(tmp_path: Path, words: str) -> None:
    async def before(server: Process) -> RpcClient:
        client = await server.rpc().come()
        await client.join(options={"delay": 0.002})
        await client.call("query", prompt=words, client_message_id="m-1")
        await client.call("query", prompt="hello", client_message_id="m-2")
        for _ in range(20):
            await client.said("stream_event")
        server.kill()
        await client.until_closed()
        return client

    async def after(server: Process, client: RpcClient) -> None:
        name = client.conversation
        assert name is not None
        await come_again(client, server.url)
        joined = await client.join(name)
        assert joined["resumed"]
        first = await client.call("query", prompt=words, client_message_id="m-1")
        await client.stream(first)
        second = await client.call("query", prompt="hello", client_message_id="m-2")
        await client.stream(second)
        while len(client.view().turns) < 2:
            await client.next()
        one, two = client.view().turns
        assert one.end.interrupted
        assert not two.end.is_error
        async with server.client(name) as witness, server.rpc() as late:
            await late.join(name)
            await everything(witness, client, late)
            assert shown_in(client.view()) == shown_in(witness.view())
            assert ends(client.view()) == ends(witness.view())
            assert late.view().messages == client.view().messages
            users = [m for m in client.view().messages if m.role == "user"]
            assert len(users) == 2, "nothing was taken twice"
        await client.leave()

    with process(tmp_path) as server:
        client = asyncio.run(before(server))
        port = port_of(server)
    with process(tmp_path, port=port) as server:
        asyncio.run(after(server, client))


def test_a_question_outlives_the_server_that_asked_it(tmp_path: Path) -> None:
    async def before(server: Process) -> RpcClient:
        client = await server.rpc().come()
        await client.join(options={"delay": 0})
        await client.call("query", prompt="ask")
        await client.called("askUserQuestion")
        server.kill()
        await client.until_closed()
        return client

    async def after(server: Process, client: RpcClient) -> None:
        await come_again(client, server.url)
        await client.join(client.conversation)
        call = await client.called("askUserQuestion")
        await client.send({"id": call["id"], "result": {"answer": "Blue"}})
        ended = await client.said("result")
        assert (ended["turn_id"], ended["data"]["is_error"]) == (1, False)
        await client.leave()

    with process(tmp_path) as server:
        client = asyncio.run(before(server))
        port = port_of(server)
    with process(tmp_path, port=port) as server:
        asyncio.run(after(server, client))
