"""Every recorded stream through both protocols: the same view, without repeats."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.helpers.recorded_streams import RECORDED, check_order
from tests.helpers.shown_content import all_messages
from tests.server.helpers.frame_checks import play
from tests.server.helpers.rpc_client import RpcClient
from tests.server.helpers.rpc_views import check_same, everything
from tests.server.helpers.servers import Serving
from tests.server.helpers.v2_client import some_answer
from turnwire.agents.recording import turns_of
from turnwire.agents.replay import ReplayAgent
from turnwire.dialects import rpc

every_stream = pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)


async def perform(client: RpcClient, path: Path) -> None:
    """Sends a prompt for each turn of a recording, and answers its requests."""
    turns = turns_of(path)
    for number in range(sum(turn.prompted for turn in turns)):
        await client.call("query", prompt=f"go {number}")
        await until_ended(client, path)
    while len(client.view().turns) < len(turns):  # turns without a prompt
        await client.next()


async def until_ended(client: RpcClient, path: Path) -> None:
    while True:
        frame = await client.find(lambda f: "method" in f or f.get("type") == "complete")
        if "method" not in frame:
            if frame["id"].startswith("req-"):
                return
        elif "interrupt" in path.stem:
            await client.call("interrupt")
        elif frame["method"] == "askUserQuestion":
            await client.send(
                {"id": frame["id"], "result": {"answer": some_answer(frame["params"])}}
            )
        else:
            await client.send({"id": frame["id"], "result": {"decision": "allow"}})


def test_half_a_character_closes_no_socket(tmp_path: Path) -> None:
    name = b"caf\xe9.txt".decode(errors="surrogateescape")
    agent = ScriptedAgent()

    async def scene(server: Serving) -> None:
        talk = await server.service.engine.create("scripted")
        async with server.rpc() as client, server.client(talk.id) as v2:
            await client.join(talk.id)
            asked = await client.call("query", prompt="go")
            session = await agent.opened()
            session.begins()
            session.speaks(name, finishes=False)
            await v2.until("assistant.chunk")
            session.speaks(name, finishes=True)
            session.reads(name)
            await v2.until("assistant.tool_call")
            session.ends()
            said = await client.stream(asked)
            await everything(v2, client)
            check_same(client.view(), v2.view())
            assert str(said).count("caf\ufffd.txt") > 2
            assert "\udce9" not in str(said) + str(v2.frames)

    play(tmp_path, scene, agents={"scripted": agent})


@every_stream
def test_both_protocols_show_the_same_view(tmp_path: Path, path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = (await server.service.engine.create("replay")).id
        async with server.rpc() as client, server.rpc() as quiet, server.client(name) as v2:
            await client.join(name, tool_progress="output_delta")
            await quiet.join(name, include_partial_messages=False)
            async with asyncio.timeout(180):
                await perform(client, path)
            await everything(v2, client, quiet)
            check_same(client.view(), v2.view())
            check_same(quiet.view(), v2.view())
            check_order(
                message
                for frame in client.frames
                if frame.get("type") == "stream"
                and isinstance(message := read(frame["data"]), rpc.messages.RpcStreamEvent)
            )
            async with server.rpc() as late:
                await late.join(name)
                await everything(v2, late)
                check_same(late.view(), v2.view())
                assert late.view().messages == quiet.view().messages

    play(tmp_path, scene, agents={"replay": ReplayAgent(path, speed=0)})


def read(data: Any) -> rpc.RpcMessage:
    return rpc.decode(msgspec.json.encode(data))


@pytest.mark.parametrize("name", ["02_thinking", "05_parallel", "15_todo"])
def test_no_message_is_repeated_or_divided(tmp_path: Path, name: str) -> None:
    """The finished message after it was streamed, and tool calls that come in several frames."""
    (path,) = (path for path in RECORDED if path.stem == name)

    async def scene(server: Serving) -> None:
        conversation = (await server.service.engine.create("replay")).id
        async with server.rpc() as client:
            await client.join(conversation)
            await perform(client, path)
            finished = [data["message"] for data in client.streamed("assistant")]
            places = Counter(
                (m["id"], m["index"] + n) for m in finished for n in range(len(m["content"]))
            )
            assert {*places.values()} == {1}, "each block is finished once"
            started = [
                data["event"]["message"]["id"]
                for data in client.streamed("stream_event")
                if data["event"]["type"] == "message_start"
            ]
            assert {m["id"] for m in finished} <= {*started}, "all of it was streamed, too"
            shown = [m for m in all_messages(client.view()) if m.role == "assistant"]
            assert sorted(m.id for m in shown) == sorted({m["id"] for m in finished})
            assert sum(len(m.blocks) for m in shown) == len(places)
            results = Counter(
                block["tool_use_id"]
                for data in client.streamed("user")
                for block in data["message"]["content"]
                if block["type"] == "tool_result"
            )
            assert {*results.values()} <= {1}

    play(tmp_path, scene, agents={"replay": ReplayAgent(path, speed=0)})
