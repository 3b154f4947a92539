"""Tools of an AG-UI front end: offered to the agent, run by the front end, answered once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agents.acp.helpers.sessions import scripted
from tests.agents.codex.helpers.real_codex import IS_INSTALLED
from tests.server.agui.test_runs import body, connected, history, judge, kinds, ran, says
from tests.server.helpers.http_scenes import play
from tests.server.helpers.servers import Serving, process, serving
from turnwire import AgentTurn, FunctionAgent
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.codex import CodexAgent
from turnwire.agents.demo import DemoAgent
from turnwire.ports import Agent
from turnwire.testing.model_api import (
    ModelApi,
    Say,
    ToolUse,
    claude_environment,
    codex_environment,
)

Message = dict[str, Any]
PAINT = {
    "name": "paint",
    "description": "Paints the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}
TOOLS: dict[str, Any] = {"tools": [PAINT]}


def result(call: str, text: str = "It is blue now.", name: str = "result-1") -> Message:
    return {"id": name, "role": "tool", "toolCallId": call, "content": text}


def calls(events: list[dict[str, Any]]) -> list[str]:
    return [each["toolCallId"] for each in events if each["type"] == "TOOL_CALL_START"]


def steps(events: list[dict[str, Any]]) -> set[str]:
    return {each["stepName"] for each in events if each["type"] == "STEP_STARTED"}


def without_ids(messages: list[Message]) -> list[Message]:
    return [{name: each[name] for name in each if name != "id"} for each in messages]


def test_the_agent_calls_a_tool_of_the_front_end_and_goes_on_with_its_result(
    tmp_path: Path,
) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        new = says("use my browser")
        first = await ran(http, body(new, **TOOLS))
        [call] = calls(first)
        done = {"type": "success", "pendingToolCallIds": [call]}
        assert first[-1]["outcome"] == done
        joined = await connected(http)
        assert joined[-1]["outcome"] == done, "it also waits for a client that joins"
        before = await judge({"messages": [new], "events": first})
        assert before["messages"][-1]["toolCalls"][0]["function"] == {
            "name": "paint",
            "arguments": '{"colour":"blue"}',
        }
        second = await ran(http, body(*before["messages"], result(call), **TOOLS))
        assert "MESSAGES_SNAPSHOT" not in kinds(second), "the client was in step"
        assert steps(first) == steps(second) == {"turn-1"}, "it is the same turn"
        told = await judge(
            {"messages": [new], "events": first},
            {"messages": [result(call)], "events": second},
        )
        assert "It is blue now." in told["messages"][-1]["content"]
        assert without_ids(told["messages"]) == without_ids(await history(http))
        again = await ran(http, body(*told["messages"], result(call, "Red."), **TOOLS))
        assert again[-1]["outcome"] == {"type": "success"}, "a result that comes twice counts once"
        assert "Red." not in str(await history(http))
        third = await ran(http, body(*told["messages"], says("hello", "m-2"), **TOOLS))
        assert "MESSAGES_SNAPSHOT" not in kinds(third), "the client is still in step"

    play(tmp_path, scene)


@pytest.mark.parametrize("answer", [{"error": "No paint."}, {"content": ""}])
def test_the_result_may_be_an_error_or_empty(answer: dict[str, str], tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        first = await ran(http, body(says("use my browser"), **TOOLS))
        [call] = calls(first)
        second = await ran(http, body({**result(call), **answer}, **TOOLS))
        assert second[-1]["outcome"] == {"type": "success"}
        [found] = [each for each in await history(http) if each["role"] == "tool"]
        assert found["content"] == answer.get("error", "")

    play(tmp_path, scene)


def test_a_stop_ends_a_turn_that_waits_for_the_front_end(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        await ran(http, body(says("use my browser"), **TOOLS))
        assert (await http.post("/agui/threads/thread-1/stop")).status_code == 204
        assert (await connected(http))[-1]["outcome"] == {"type": "cancelled"}

    play(tmp_path, scene)


def test_a_call_waits_while_the_server_is_killed_and_started_again(tmp_path: Path) -> None:
    async def run() -> None:
        with process(tmp_path) as server:
            async with server.http() as http:
                first = await ran(http, body(says("use my browser, then think"), **TOOLS))
            [call] = calls(first)
            server.kill()
        with process(tmp_path) as server:
            async with server.http() as http:
                joined = await connected(http)
                assert joined[-1]["outcome"]["pendingToolCallIds"] == [call]
                second = await ran(http, body(result(call), **TOOLS))
                assert second[-1]["outcome"] == {"type": "success"}
                told = await history(http)
                results = [each for each in told if each["role"] == "tool"]
                assert [each["content"] for each in results] == ["It is blue now."]
                assert "REASONING_MESSAGE_START" in kinds(second), "the rest was played too"

    asyncio.run(run())


def test_agents_say_whether_they_take_tools_of_the_front_end(tmp_path: Path) -> None:
    async def able(turn: AgentTurn) -> None:
        chosen = turn.answer or await turn.use_client_tool("paint", {"colour": "red"})
        await turn.say(f"The front end says: {chosen}")

    async def plain(turn: AgentTurn) -> None:
        await turn.say("Hello.")

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        for agent, expected in (("able", True), ("plain", False), ("demo", True)):
            told = (await http.get(f"/agui/agents/{agent}/capabilities")).json()
            assert told["tools"]["clientProvided"] is expected
        refused = await http.post("/agui/agents/plain", json=body(says("hi"), turnwire={}, **TOOLS))
        assert refused.json()["error"]["code"] == "NOT_SUPPORTED"
        chosen = {"agent": "able"}
        first = await ran(http, body(says("go"), turnwire=chosen, **TOOLS))
        [call] = calls(first)
        await ran(http, body(result(call, "Painted."), turnwire=chosen, **TOOLS))
        assert (await history(http))[-1]["content"] == "The front end says: Painted."

    agents: dict[str, Agent] = {
        "able": FunctionAgent("able", able, client_tools=True),
        "plain": FunctionAgent("plain", plain),
        "demo": DemoAgent(delay=0),
    }
    play(tmp_path, scene, agents=agents)


def test_tools_that_are_offered_later_are_ignored_with_a_sign(tmp_path: Path) -> None:
    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        def ignored(events: list[dict[str, Any]]) -> Any:
            return events[0]["metadata"]["turnwire"].get("ignored")

        assert ignored(await ran(http, body(says("hello"), **TOOLS))) is None
        assert ignored(await ran(http, body(says("hello", "m-2"), **TOOLS))) is None
        assert ignored(await ran(http, body(says("hello", "m-3")))) is None, "it offers none now"
        other = [{**PAINT, "name": "draw"}]
        context = [{"description": "a", "value": "b"}]
        later = await ran(http, body(says("hello", "m-4"), tools=other, context=context))
        assert ignored(later) == ["context", "tools"]

    play(tmp_path, scene)


BAD: list[tuple[Any, str]] = [
    ([{**PAINT, "parameters": 5}], "JSON Schema"),
    ([{**PAINT, "parameters": {"type": "string"}}], '"type": "object"'),
    ([{**PAINT, "name": ""}], "1 to 49 letters"),
    ([{**PAINT, "name": "a b"}], "1 to 49 letters"),
    ([{**PAINT, "name": "x" * 5000}], "1 to 49 letters"),
    ([PAINT, PAINT], "two tools with the name 'paint'"),
    ([{**PAINT, "name": "AskUserQuestion"}], "ask people"),
    ([{**PAINT, "name": f"paint-{number}"} for number in range(129)], "at most 128 tools"),
    ([5], "Expected `object`"),
]


@pytest.mark.parametrize("agent", ["demo", "able"])
def test_tools_that_no_agent_can_call_are_refused_before_anything_is_created(
    agent: str, tmp_path: Path
) -> None:
    async def able(turn: AgentTurn) -> None:
        await turn.say(" ".join(tool.name for tool in turn.client_tools) or "no tools")

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        chosen = {"agent": agent}
        for tools, said in BAD:
            runs = await http.post("/agui", json=body(says("hi"), turnwire=chosen, tools=tools))
            begun = {"agent": agent, "options": {"client_tools": tools}}
            made = await http.post("/api/conversations", json=begun)
            for refused in (runs, made):
                assert refused.status_code == 400
                error = refused.json()["error"]
                assert error["code"] == "INVALID_PAYLOAD"
                assert said in error["message"]
                assert len(error["message"]) < 300
        assert (await http.get("/api/conversations")).json()["conversations"] == []
        first = await ran(http, body(says("hi"), turnwire=chosen))
        assert first[-1]["type"] == "RUN_FINISHED", "the thread is not spoilt"
        later = body(says("hi", "m-2"), turnwire=chosen, tools=BAD[0][0])
        assert (await http.post("/agui", json=later)).status_code == 400

    agents: dict[str, Agent] = {
        "able": FunctionAgent("able", able, client_tools=True),
        "demo": DemoAgent(delay=0),
    }
    play(tmp_path, scene, agents=agents)


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_real_agents_call_a_tool_of_the_front_end_and_get_its_result(
    agent: str, tmp_path: Path
) -> None:
    if agent == "codex" and not IS_INSTALLED:
        pytest.skip("the extra codex is not installed")
    name = "mcp__turnwire__paint" if agent == "claude" else "paint"

    async def run() -> None:
        replies = (Say([ToolUse(name, {"colour": "blue"}, id="call_1")]), "Painted.")
        async with ModelApi(*replies) as api:
            home = tmp_path / "home"
            home.mkdir()
            made: Agent = (
                ClaudeAgent(env=claude_environment(api.url, home), titles=False, start_seconds=180)
                if agent == "claude"
                else CodexAgent(env=codex_environment(api.url, home), start_seconds=180)
            )
            async with (
                serving(tmp_path / "data", agents={agent: made}) as server,
                server.http() as http,
            ):
                await talks(http)

    async def talks(http: httpx.AsyncClient) -> None:
        able = (await http.get(f"/agui/agents/{agent}/capabilities")).json()
        assert able["tools"]["clientProvided"] is True
        chosen = {"agent": agent}
        first = await ran(http, body(says("go"), turnwire=chosen, **TOOLS))
        assert first[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["call_1"]}
        names = [each["toolCallName"] for each in first if each["type"] == "TOOL_CALL_START"]
        assert names == ["paint"], "by its own name"
        await ran(http, body(result("call_1"), turnwire=chosen, **TOOLS))
        told = await history(http)
        assert [each["content"] for each in told if each["role"] == "tool"] == ["It is blue now."]
        assert told[-1]["content"] == "Painted."

    asyncio.run(run())


def test_an_agent_of_acp_calls_a_tool_of_the_front_end_and_gets_its_result(tmp_path: Path) -> None:
    work, data = tmp_path / "work", tmp_path / "data"
    work.mkdir()
    data.mkdir()

    async def scene(server: Serving, http: httpx.AsyncClient) -> None:
        able = (await http.get("/agui/agents/scripted/capabilities")).json()
        assert able["tools"]["clientProvided"] is True
        chosen = {"agent": "scripted"}
        new = says("brush it")
        first = await ran(http, body(new, turnwire=chosen, **TOOLS))
        assert first[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["brush-a"]}
        before = await judge({"messages": [new], "events": first})
        assert before["messages"][-1]["toolCalls"][0]["function"] == {
            "name": "paint",
            "arguments": '{"colour":"blue"}',
        }
        await ran(http, body(result("brush-a"), turnwire=chosen, **TOOLS))
        told = await history(http)
        assert [each["content"] for each in told if each["role"] == "tool"] == ["It is blue now."]
        assert told[-1]["content"] == "Done."

    play(data, scene, agents={"scripted": scripted(work)})
