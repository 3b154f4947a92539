"""Tools of the front end with the real Codex: offered, called, answered, also after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import RULES
from tests.agents.codex.helpers.real_codex import (
    IS_INSTALLED,
    CodexStage,
    server_dies_at_a_question,
    stage,
)
from turnwire.agents.codex import CodexAgent
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import ModelApi, Say, ToolUse
from turnwire.testing.model_api.server import Answer

installed = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")
PAINT = {
    "name": "paint",
    "description": "Paints the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}
TOOLS: dict[str, Any] = {"client_tools": [PAINT, {"name": "beep"}]}


def paint(call: str = "call_1") -> ToolUse:
    return ToolUse("paint", {"colour": "blue"}, id=call)


@installed
async def test_the_front_end_runs_a_tool_and_codex_goes_on_with_its_result(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([paint()]), "Done.", conversation={"options": TOOLS}) as it:
        await it.talk.send("go")
        asked = await it.asked()
        assert (asked.question_id, asked.metadata) == ("call_1", {"client_tool": True})
        offered = [each.get("name") for each in it.api.requests[-1].body["tools"]]
        assert {"paint", "beep"} <= set(offered)
        call = it.seen.of(f.AssistantToolCall)[-1].payload
        assert (call.tool_name, call.input) == ("paint", {"colour": "blue"})
        await it.talk.answer(asked.question_id, "It is blue now.")
        await it.ends()
        assert it.told["call_1"] == "It is blue now."
        assert it.results["call_1"].content == "It is blue now."
        assert it.text == ["Done."]


@installed
async def test_the_tools_stay_with_a_conversation_that_is_opened_again_or_forked(
    tmp_path: Path,
) -> None:
    replies: list[Answer] = ["One.", Say([paint()]), "Two.", Say([paint("call_2")]), "Three."]
    async with stage(tmp_path, *replies, conversation={"options": TOOLS}) as it:
        await it.says("one")
        await it.stop()
        await it.start_again()
        await it.talk.send("two")
        await it.talk.answer((await it.asked()).question_id, "Blue.")
        await it.ends()
        forked = await it.engine.fork(it.talk.id, user=None)
        await forked.send("three")
        async for frame in forked.follow():
            if isinstance(frame, f.AssistantRequestInput) and frame.payload.question_id == "call_2":
                await forked.answer(frame.payload.question_id, "Blue again.")
            if isinstance(frame, f.AssistantComplete) and "call_2" in it.told:
                break
        assert it.told["call_2"] == "Blue again."


@installed
async def test_a_stop_ends_a_call_of_the_front_end(tmp_path: Path) -> None:
    replies = (Say([paint()]), "Never.", "Hello again.")
    async with stage(tmp_path, *replies, conversation={"options": TOOLS}) as it:
        await it.talk.send("go")
        await it.asked()
        await it.talk.interrupt(1)
        assert (await it.ends()).interrupted
        assert it.results["call_1"].is_error


@installed
async def test_a_result_for_a_codex_that_was_killed_arrives_as_a_prompt_that_quotes_the_call(
    tmp_path: Path,
) -> None:
    async with ModelApi(Say([paint()]), "Painted.", aside=None) as api:
        it = CodexStage(tmp_path, api, RULES)
        await server_dies_at_a_question(tmp_path, api.url, TOOLS)
        await it.start_again()
        ack = (await it.talk.answer("call_1", "It is blue now.")).ack
        assert ack.delivered_as == "prompt"
        await it.ends()
        assert it.text == ["Painted."]
        told = str(api.requests[-1].messages)
        assert "> paint" in told
        assert "It is blue now." in told
        await it.stop()


def test_tools_with_the_same_name_are_refused() -> None:
    with pytest.raises(Refused, match="two tools"):
        CodexAgent().check_options({"client_tools": [PAINT, PAINT]})
    assert CodexAgent().check_options({"client_tools": [PAINT]}) == {"client_tools": [PAINT]}
