"""Tools of the front end with the real Claude Code: offered, called, answered after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import Stage, kill_claude, stage
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.questions.one_at_a_time import ONE_AT_A_TIME
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say, ToolUse
from turnwire.testing.model_api.server import Answer

PAINT = {
    "name": "paint",
    "description": "Paints the page.",
    "parameters": {"type": "object", "properties": {"questions": {"type": "string"}}},
}
OPTIONS: dict[str, Any] = {"options": {"client_tools": [PAINT, {"name": "beep-it"}]}}


def paint(call: str = "call_1", name: str = "paint") -> ToolUse:
    return ToolUse(f"mcp__turnwire__{name}", {"questions": "blue"}, id=call)


async def calls_it(it: Stage, call: str, name: str = "paint") -> None:
    """Waits for a call of the front end, which is shown by the front end's own name."""
    asked = await it.asked()
    assert (asked.question_id, asked.metadata) == (call, {"client_tool": True})
    shown = it.seen.of(f.AssistantToolCall)[-1].payload
    assert (shown.tool_use_id, shown.tool_name) == (call, name)
    assert shown.input == {"questions": "blue"}


async def test_a_result_is_that_of_the_call_also_after_a_restart(tmp_path: Path) -> None:
    script: list[Answer] = [Say([paint()]), "Done.", Say([paint("call_2", "beep-it")]), "Beeped."]
    async with stage(tmp_path, *script, conversation=OPTIONS) as it:
        await it.talk.send("paint")
        await calls_it(it, "call_1")
        offered = [each["name"] for each in it.api.requests[-1].body["tools"]]
        assert {"mcp__turnwire__paint", "mcp__turnwire__beep-it"} <= set(offered)
        await it.sleeps()
        ack = (await it.talk.answer("call_1", "It is blue now.")).ack
        assert ack.delivered_as == "tool_result"
        assert not (await it.ends()).is_error
        assert it.told["call_1"] == "It is blue now."
        await it.talk.send("beep")
        await calls_it(it, "call_2", "beep-it")
        await it.sleeps()
        await it.stop()
        await it.start_again()
        ack = (await it.talk.answer("call_2", "Beep.")).ack
        assert ack.delivered_as == "tool_result"
        await it.ends()
        assert it.told["call_2"] == "Beep."
        assert it.text == ["Beeped."]
        assert not it.seen.of(f.AssistantPermissionRequest)


async def test_the_front_end_is_called_once_at_a_time_and_a_stop_ends_its_call(
    tmp_path: Path,
) -> None:
    two = Say([paint(), paint("call_2")])
    async with stage(
        tmp_path, two, "Done.", Say([paint("call_3")]), "Hi.", conversation=OPTIONS
    ) as it:
        await it.talk.send("paint")
        await calls_it(it, "call_1")
        await it.sleeps()
        await it.talk.answer("call_1", "It is blue now.")
        assert not (await it.ends()).is_error
        assert it.told["call_1"] == "It is blue now."
        assert it.told["call_2"].endswith(ONE_AT_A_TIME)
        assert [each["tool_use_id"] for each in it.news("question_refused")] == ["call_2"]
        await it.talk.send("again")
        await calls_it(it, "call_3")
        await it.sleeps()
        await it.talk.interrupt(2)
        assert (await it.ends()).interrupted
        await it.says("hi")
        assert it.text == ["Done.", "Hi."]


async def test_a_result_for_a_process_that_was_killed_arrives_as_a_prompt(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([paint()]), "Done.", conversation=OPTIONS, hold=120.0) as it:
        await it.talk.send("paint")
        await calls_it(it, "call_1")
        await it.held("call_1")
        kill_claude()
        await it.sleeps()
        await it.talk.answer("call_1", "It is blue now.")
        assert not (await it.ends()).is_error
        assert "It is blue now." in str(it.api.requests[-1].messages[-1])


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["paint", "paint"], "two tools"),
        (["request_input"], "ask people"),
        (["two words"], "1 to 49 letters"),
        (["x" * 50], "1 to 49 letters"),
    ],
)
def test_names_that_claude_cannot_call_are_refused(names: list[str], why: str) -> None:
    tools = [{"name": name} for name in names]
    with pytest.raises(Refused, match=why):
        ClaudeAgent().check_options({"client_tools": tools})
