"""Tools of the front end with the real opencode: called, answered, stopped, after a restart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agents.acp.helpers.real_opencode import OpencodeStage, stage
from tests.agents.claude.helpers.real_claude import stop, until
from turnwire.agents.acp import tool_server
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say, ToolUse
from turnwire.testing.model_api.server import Answer

PAINT = {
    "name": "paint",
    "description": "Paints the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}
TOOLS: dict[str, Any] = {"options": {"client_tools": [PAINT, {"name": "beep"}]}}
BLUE = {"colour": "blue"}


def paint(call: str = "call_1", colour: str = "blue") -> ToolUse:
    return ToolUse("turnwire_paint", {"colour": colour}, id=call)


def calls(it: OpencodeStage) -> dict[str, tuple[str, Any]]:
    """Returns the name and the input of each call that the follower saw."""
    told = [frame.payload for frame in it.seen.of(f.AssistantToolCall)]
    return {each.tool_use_id: (each.tool_name, each.input) for each in told}


async def test_the_front_end_runs_tools_at_the_same_time_and_the_model_gets_their_results(
    program: Path, home: Path, tmp_path: Path
) -> None:
    beep = ToolUse("turnwire_beep", {}, id="call_3")
    replies: list[Answer] = [Say([paint(), paint("call_2", "red"), beep]), "Done."]
    async with stage(program, home, tmp_path, *replies, conversation=TOOLS) as it:
        await it.talk.send("go")
        asked = [await it.asked() for _ in range(3)]
        assert {each.question_id for each in asked} == {"call_1", "call_2", "call_3"}
        assert asked[0].metadata == {"client_tool": True}
        for call, said in (("call_3", "Beep."), ("call_2", "Red."), ("call_1", "Blue.")):
            await it.talk.answer(call, said)
        await it.ends()
        assert it.text == ["Done."]
        assert {call: name for call, (name, _) in calls(it).items()} == {
            "call_1": "paint",
            "call_2": "paint",
            "call_3": "beep",
        }
        assert calls(it)["call_1"] == ("paint", BLUE)
        shown = {call: each.content for call, each in it.results.items()}
        assert shown == {"call_1": "Blue.", "call_2": "Red.", "call_3": "Beep."}
        told = {call: each["content"] for call, each in it.api.requests[-1].tool_results.items()}
        assert told == shown


async def test_a_call_may_wait_for_longer_than_opencode_waits_for_a_silent_server(
    program: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signs: list[Any] = []
    send = tool_server._Connection._send

    def sent(self: Any, message: dict[str, Any]) -> None:
        if message.get("method") == "notifications/progress":
            signs.append(message)
        send(self, message)

    monkeypatch.setattr(tool_server, "_ALIVE", 0.5)
    monkeypatch.setattr(tool_server._Connection, "_send", sent)
    async with stage(program, home, tmp_path, Say([paint()]), "Done.", conversation=TOOLS) as it:
        limit = {"experimental": {"mcp_timeout": 5000}}
        (it.work / "opencode.json").write_text(json.dumps(limit))
        await it.talk.send("go")
        asked = await it.asked()
        await until(lambda: len(signs) >= 14)  # they take 7 seconds
        await it.talk.answer(asked.question_id, "Blue.")
        await it.ends()
        assert it.results["call_1"].content == "Blue."


async def test_a_stop_ends_a_call_and_the_next_turn_has_the_tools(
    program: Path, home: Path, tmp_path: Path
) -> None:
    replies: list[Answer] = [Say([paint()]), Say([paint("call_2")]), "Done."]
    async with stage(program, home, tmp_path, *replies, conversation=TOOLS) as it:
        await it.talk.send("go")
        await it.asked()
        await stop(it)
        assert it.results["call_1"].is_error
        assert (await it.talk.status()).requests == []
        await it.talk.send("again")
        await it.talk.answer((await it.asked()).question_id, "Blue.")
        await it.ends()
        assert it.results["call_2"].content == "Blue."


async def test_a_result_after_a_restart_arrives_as_a_prompt_and_the_tools_are_there_again(
    program: Path, home: Path, tmp_path: Path
) -> None:
    replies: list[Answer] = [Say([paint()]), Say([paint("call_2", "red")]), "Done."]
    async with stage(program, home, tmp_path, *replies, conversation=TOOLS) as it:
        await it.talk.send("go")
        await it.asked()
        await it.stop()
        await it.start_again()
        ack = (await it.talk.answer("call_1", "It is blue now.")).ack
        assert ack.delivered_as == "prompt"
        assert (await it.asked()).question_id == "call_2"
        await it.talk.answer("call_2", "Red.")
        await it.ends()
        assert it.results["call_2"].content == "Red."
        assert "It is blue now." in str(it.api.requests[-1].messages)
