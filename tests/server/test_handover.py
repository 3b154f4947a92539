"""Handing over between agents, over every interface of a real server, and across its death."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.server.helpers.frame_checks import Able, play, refused
from tests.server.helpers.rpc_client import RpcClient
from tests.server.helpers.servers import Process, Serving, process
from turnwire.agents.agent_turn import AgentTurn
from turnwire.agents.demo import DemoAgent
from turnwire.agents.function import FunctionAgent
from turnwire.client import Client
from turnwire.crash_points import EXIT_CODE, VARIABLE

# The choice is the first that a person asks for, and the change is the first step after it.
CRASHES = ["ask_stepped:1", "ask_written:1", "ask_acknowledged:1", "step_made:1", "step_written:1"]


async def echo(turn: AgentTurn) -> None:
    """Says how much it was told, and the last line of it."""
    lines = turn.text.splitlines()
    await turn.say(f"{len(lines)} lines, at last {lines[-1]}")


def agents() -> dict[str, Any]:
    told = FunctionAgent("echo", echo)
    told.capabilities = structs.replace(told.capabilities, takes_recap=True)
    return {"demo": DemoAgent(delay=0), "able": Able(delay=0), "echo": told}


def is_news_of(agent: str) -> Any:
    def that(frame: dict[str, Any]) -> bool:
        payload = frame["payload"]
        return bool(payload["subtype"] == "agent" and payload["data"]["agent"] == agent)

    return that


def speaks(agent: str) -> Any:
    return lambda frame: frame["payload"].get("agent") == agent


def test_every_tab_sees_who_speaks_and_a_new_connection_gets_its_capabilities(
    tmp_path: Path,
) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.client(name) as one, server.client(name) as other:
            offered = one.frames[0]["payload"]["capabilities"]
            assert "session.set_agent" in offered["commands"]
            await one.say("hello", "m-1")
            await one.end_of(1)
            await one.send("session.set_agent", "a-1", agent="able")
            assert (await one.answer("a-1"))["payload"]["agent"] == "able"
            for tab in (one, other):
                news = await tab.until("session.system_event", is_news_of("able"))
                assert news["payload"]["data"] == {"agent": "able", "from": "demo"}
                await tab.until("session.state", speaks("able"))
            await other.send("session.set_model", "s-1", model="m-1")
            assert (await other.answer("s-1"))["payload"]["model"] == "m-1"
            await other.send("session.set_agent", "a-2", agent="echo")
            await other.answer("a-2")
            state = await one.until("session.state", speaks("echo"))
            assert "model" not in state["payload"], "the model was the other agent's"
            await refused(other, "session.set_model", "NOT_SUPPORTED", own_id="s-2", model="m-1")
            await one.say("what was said?", "m-2")
            await one.end_of(2)
        async with server.client(name) as late:
            assert late.frames[0]["payload"]["capabilities"]["agent"] == "echo"
            view = late.view()
            answers = [m for m in view.messages if m.role == "assistant"]
            said = [str(getattr(block, "text", "")) for m in answers for block in m.blocks]
            assert said[-1].endswith("at last what was said?")
            assert int(said[-1].split()[0]) > 3, "it was told what was said before"

    play(tmp_path, scene, agents=agents(), agent="demo")


def test_a_message_right_after_the_choice_waits_for_the_new_agent(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            await client.say("hello", "m-1")
            await client.end_of(1)
            await client.send("session.set_agent", "a-1", agent="echo")
            await client.say("and now?", "m-2")
            await client.end_of(2)
            texts = [f["payload"].get("text", "") for f in client.frames]
            assert any(text.endswith("at last and now?") for text in texts)

    play(tmp_path, scene, agents=agents(), agent="demo")


def test_an_unknown_agent_is_refused_and_one_agent_alone_offers_no_choice(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            await refused(client, "session.set_agent", "INVALID_PAYLOAD", agent="missing")

    play(tmp_path / "several", scene, agents=agents(), agent="demo")

    async def alone(server: Serving) -> None:
        name = await server.begin()
        async with server.client(name) as client:
            assert (
                "session.set_agent" not in client.frames[0]["payload"]["capabilities"]["commands"]
            )
            await refused(client, "session.set_agent", "NOT_SUPPORTED", agent="demo")

    play(tmp_path / "alone", alone, agents={"demo": DemoAgent(delay=0)}, agent="demo")


def test_over_rpc_the_method_is_set_agent_and_each_message_names_its_agent(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        async with server.rpc() as client:
            joined = await client.join(options={"delay": 0})
            name = joined["conversation"]
            assert "setAgent" in joined["capabilities"]["methods"]
            await client.query("hello")
            assert await client.result("setAgent", agent="echo") == {"agent": "echo"}
            assert providers(await client.query("who?"), "assistant") == {"echo"}
            offered = await client.result("getCapabilities")
            assert offered["provider"] == "echo"
            kept = (await client.result("loadHistory"))["messages"]
            spoke = [k["data"]["provider"] for k in kept if k["data"]["type"] == "assistant"]
            assert list(dict.fromkeys(spoke)) == ["demo", "echo"]
        async with RpcClient(server.url, server.token) as late:
            again = await late.join(name)
            assert again["capabilities"]["provider"] == "echo"

    play(tmp_path, scene, agents=agents(), agent="demo")


def providers(frames: list[dict[str, Any]], kind: str) -> set[str]:
    return {f["data"]["provider"] for f in frames if f["data"]["type"] == kind}


def test_over_http_the_agent_is_changed_alone(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        name = await server.begin()
        async with server.http() as http:
            both = {"agent": "able", "model": "m-1"}
            answer = await http.patch(f"/api/conversations/{name}", json=both)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "INVALID_PAYLOAD")
            changed = await http.patch(f"/api/conversations/{name}", json={"agent": "able"})
            assert changed.status_code == 200, changed.text
            async with server.client(name) as client:
                if client.frames[-1]["payload"].get("agent") != "able":
                    await client.until("session.state", speaks("able"))
            assert (await http.get(f"/api/conversations/{name}")).json()["agent"] == "able"

    play(tmp_path, scene, agents=agents(), agent="demo")


def test_the_python_client_hands_over_and_asks_the_new_agent(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        client = Client(server.url, server.token)
        name = await client.create("demo")
        async with client.conversation(name) as talk:
            await talk.ask("hello")
            assert (await talk.set_agent("echo")).agent == "echo"
            reply = await talk.ask("and you?")
            assert reply.text.endswith("at last and you?")

    play(tmp_path, scene, agents=agents(), agent="demo")


AGENTS: dict[str, Any] = {
    "TURNWIRE_AGENTS": "tests.server.helpers.quick_demo:make,replay",
    "TURNWIRE_AGENT": "demo",
    "TURNWIRE_LEASE": "2",
}


async def ends_with_replay(server: Process, name: str) -> None:
    """Says something, which the agent `replay` answers."""
    async with server.client(name) as client:
        if client.frames[-1]["payload"].get("agent") != "replay":
            await client.until("session.state", speaks("replay"))
        turn_id = (client.frames[-1]["payload"].get("last_turn_id") or 0) + 1
        await client.say("and now?", "m-9")
        end = await client.end_of(turn_id)
        assert not end["payload"]["is_error"]
        assert any(f["payload"].get("text") == "The answer is 42." for f in client.frames)


@pytest.mark.parametrize("point", CRASHES)
def test_a_server_that_dies_around_the_change_leaves_it_chosen(tmp_path: Path, point: str) -> None:
    crash: dict[str, Any] = {VARIABLE: point}

    async def scene() -> None:
        with process(tmp_path, **AGENTS) as server:
            name = await server.begin()
            async with server.client(name) as client:
                await client.say("hello", "m-1")
                await client.end_of(1)
        with process(tmp_path, **AGENTS, **crash) as server:
            async with server.client(name) as client:
                await client.send("session.set_agent", "a-1", agent="replay")
                await client.until_closed()
            assert await asyncio.to_thread(server.popen.wait) == EXIT_CODE
        with process(tmp_path, **AGENTS) as server:
            async with server.client(name) as client:
                await client.send("session.set_agent", "a-1", agent="replay")
                await client.answer("a-1")
            await ends_with_replay(server, name)

    asyncio.run(scene())


def test_kill_9_right_after_the_ack_and_the_agent_takes_over_at_the_next_start(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        with process(tmp_path, **AGENTS) as server:
            name = await server.begin()
            async with server.client(name) as client:
                await client.say("hello", "m-1")
                await client.end_of(1)
                await client.send("session.set_agent", "a-1", agent="replay")
                await client.answer("a-1")
                server.kill()
                await client.until_closed()
        with process(tmp_path, **AGENTS) as server:
            await ends_with_replay(server, name)

    asyncio.run(scene())
