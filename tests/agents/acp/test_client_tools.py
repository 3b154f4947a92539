"""Tools of the front end, called by an agent of the protocol over MCP: one call in the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.acp.helpers.scripted_stage import ScriptedStage, stage
from turnwire.dialects.v2 import frames as f

PAINT = {
    "name": "paint",
    "description": "Paints the page.",
    "parameters": {"type": "object", "properties": {"colour": {"type": "string"}}},
}
OPTIONS: dict[str, Any] = {"options": {"client_tools": [PAINT, {"name": "beep"}]}}


BLUE = {"colour": "blue"}


def calls(it: ScriptedStage) -> dict[str, tuple[str, Any]]:
    """Returns the name and the input of each call that the follower saw."""
    told = [frame.payload for frame in it.seen.of(f.AssistantToolCall)]
    return {each.tool_use_id: (each.tool_name, each.input) for each in told}


async def test_the_front_end_runs_a_tool_under_the_agents_own_id_of_the_call(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, OPTIONS) as it:
        await it.talk.send("brush")
        asked = await it.asked()
        assert (asked.question_id, asked.metadata) == ("brush-a", {"client_tool": True})
        await it.talk.answer(asked.question_id, "It is blue now.")
        await it.ends()
        assert it.results["brush-a"].content == "It is blue now."
        assert calls(it) == {"brush-a": ("paint", BLUE)}
        await it.says("hello")


async def test_calls_at_the_same_time_get_the_answers_to_their_own_arguments(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, OPTIONS) as it:
        await it.talk.send("duet")
        asked = {(await it.asked()).question_id, (await it.asked()).question_id}
        assert asked == {"duet-blue", "duet-red"}
        await it.talk.answer("duet-blue", "Blue.")
        await it.talk.answer("duet-red", "Red.")
        await it.ends()
        assert calls(it) == {"duet-blue": ("paint", BLUE), "duet-red": ("paint", {"colour": "red"})}
        assert {call: each.content for call, each in it.results.items()} == {
            "duet-blue": "Blue.",
            "duet-red": "Red.",
        }


async def test_a_call_that_the_agent_does_not_announce_is_announced_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.agents.acp.client_calls._GRACE", 0.0)
    async with stage(tmp_path, OPTIONS) as it:
        await it.talk.send("mute")
        asked = await it.asked()
        await it.talk.answer(asked.question_id, "Blue.")
        await it.ends()
        assert calls(it) == {asked.question_id: ("paint", BLUE)}
        assert it.results[asked.question_id].content == "Blue."
        assert it.text == ["It said: Blue. Done."]


async def test_a_call_that_the_agent_tells_of_too_late_is_not_a_second_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.agents.acp.client_calls._GRACE", 0.0)
    async with stage(tmp_path, OPTIONS) as it:
        await it.talk.send("belated")
        asked = await it.asked()
        await it.talk.answer(asked.question_id, "Blue.")
        await it.ends()
        assert calls(it) == {asked.question_id: ("paint", BLUE)}
        assert list(it.results) == [asked.question_id]


async def test_a_call_whose_arguments_the_agent_does_not_tell_has_those_of_the_request(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, OPTIONS) as it:
        await it.talk.send("bare")
        await it.talk.answer((await it.asked()).question_id, "Blue.")
        await it.ends()
        assert calls(it) == {"bare-a": ("paint", BLUE)}
        assert it.results["bare-a"].content == "Blue."


async def test_a_call_that_the_agent_gives_up_is_no_longer_open(tmp_path: Path) -> None:
    async with stage(tmp_path, OPTIONS) as it:
        await it.talk.send("abandon")
        assert not (await it.ends()).is_error
        assert it.results["gone-a"].is_error
        assert (await it.talk.status()).requests == []


@pytest.mark.parametrize("words", ["brush", "mute"])
async def test_a_stop_ends_a_call_of_the_front_end(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.agents.acp.client_calls._GRACE", 0.0)
    async with stage(tmp_path, OPTIONS) as it:
        await it.talk.send(words)
        asked = await it.asked()
        await it.talk.interrupt(1)
        assert (await it.ends()).interrupted
        assert it.results[asked.question_id].is_error
        assert (await it.talk.status()).requests == []
        await it.talk.send("brush")
        await it.talk.answer((await it.asked()).question_id, "Blue.")
        assert not (await it.ends()).is_error


async def test_a_resumed_session_has_the_tools_again(tmp_path: Path) -> None:
    async with stage(tmp_path, OPTIONS) as it:
        await it.says("hello")
        await it.stop()
        await it.start_again()
        await it.talk.send("brush")
        await it.talk.answer((await it.asked()).question_id, "Blue.")
        await it.ends()
        assert it.results["brush-a"].content == "Blue."
