"""Turns of the real Codex: text, reasoning, commands, file changes, plans, permissions, questions."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.agents.claude.helpers.real_claude import programs, stop, until_it_runs
from tests.agents.codex.helpers.real_codex import (
    IS_INSTALLED,
    ask,
    beyond,
    patch,
    run,
    stage,
)
from tests.agents.helpers.processes import wait_until_gone
from turnwire.core.event_payloads import Decision
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Fail, Say, Text, Thinking, ToolUse
from turnwire.testing.model_api.server import Answer

pytestmark = pytest.mark.skipif(not IS_INSTALLED, reason="the extra codex is not installed")


async def test_text_and_reasoning_stream_and_are_in_the_log(tmp_path: Path) -> None:
    thought = Say([Thinking("Let me think.", cuts=3), Text("Hello from Codex.", cuts=4)])
    async with stage(tmp_path, thought, "Bye.") as it:
        end = await it.says("hi")
        assert (end.is_error, end.stop_reason) == (False, "end_turn")
        assert end.usage is not None
        assert (end.usage.input_tokens, end.usage.output_tokens) == (100, 20)
        await it.says("bye")
        assert it.text == ["Hello from Codex.", "Bye."]
        thinking = [frame.payload for frame in it.seen.of(f.AssistantThinking)]
        assert "Let me think." in [each.text for each in thinking if not each.partial]
        assert [request.messages[-1]["content"][0]["text"] for request in it.api.requests] == [
            *("hi", "bye")
        ]


async def test_a_command_has_its_whole_output_and_says_what_it_is(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([run("echo one; echo two")]), "Done.") as it:
        await it.says("go")
        result = it.results["call_1"]
        assert (result.content, result.is_error) == ("one\ntwo\n", False)
        view = it.seen.view()
        (tool,) = [b for m in view.messages for b in m.blocks if b.id == "call_1"]
        assert tool.tool_name == "command_execution"  # type: ignore[union-attr]
        assert "one" in it.told["call_1"]


async def test_raw_reasoning_is_thinking_where_codex_shows_it(tmp_path: Path) -> None:
    thought = Say([Thinking("Raw thoughts.", cuts=3, raw=True), "Hello."])
    async with stage(tmp_path, thought, toml="show_raw_agent_reasoning = true\n") as it:
        await it.says("hi")
        thinking = [frame.payload for frame in it.seen.of(f.AssistantThinking)]
        assert [each.text for each in thinking if not each.partial] == ["Raw thoughts."]
        assert any(each.partial and each.text for each in thinking), "it came in pieces"


async def test_the_output_of_a_command_comes_while_it_runs(tmp_path: Path) -> None:
    command = run("echo one; sleep 0.5; echo two; cat wait")
    async with stage(tmp_path, Say([command]), "Done.") as it:
        os.mkfifo(it.work / "wait")
        await it.talk.send("go")
        printed = await it.seen.until(
            f.AssistantToolProgress, lambda frame: bool(frame.payload.output)
        )
        assert printed.payload.tool_use_id == "call_1"
        assert not it.results, "the command still runs"
        await asyncio.to_thread((it.work / "wait").write_text, "three\n")
        await it.ends()
        assert it.results["call_1"].content == "one\ntwo\nthree\n"


async def test_a_text_that_breaks_off_is_sent_again_and_said_once(tmp_path: Path) -> None:
    cut = Say([Text("Hello wo", cuts=2), Text("never")], cut_after=5)
    async with stage(tmp_path, cut, "Hello world.") as it:
        end = await it.says("hi")
        assert not end.is_error
        assert it.text == ["Hello world."]
        assert it.seen.of(f.AssistantDiscarded)
        assert it.news("error_retry")


async def test_a_file_is_changed_after_a_person_allows_it(tmp_path: Path) -> None:
    replies = (Say([patch()]), "Done.")
    async with stage(tmp_path, *replies, conversation={"permission_mode": "read-only"}) as it:
        await it.talk.send("go")
        wants = await it.wants()
        assert wants.tool_name == "file_change"
        assert wants.input["changes"][0]["kind"] == "add"
        await it.talk.decide(wants.request_id, "allow")
        await it.ends()
        assert (it.work / "hello.txt").read_text() == "hello\nworld\n"


async def test_a_permission_is_given_denied_and_given_for_the_session(tmp_path: Path) -> None:
    replies: list[Answer] = [
        *(Say([beyond("touch a", "call_1")]), "One."),
        *(Say([beyond("touch b", "call_2")]), "Two."),
        *(Say([beyond("touch c", "call_3")]), "Three."),
        *(Say([beyond("touch c", "call_4")]), "Four."),
    ]
    async with stage(tmp_path, *replies) as it:
        decisions: list[Decision] = ["allow", "deny"]
        for number, decision in enumerate(decisions, 1):
            await it.talk.send("go")
            wants = await it.wants()
            assert (wants.tool_use_id, wants.reason) == (f"call_{number}", "Really?")
            await it.talk.decide(wants.request_id, decision)
            await it.ends()
        assert [(it.work / name).exists() for name in "ab"] == [True, False]
        assert it.results["call_2"].is_error
        await it.talk.send("go")
        wants = await it.wants()
        await it.talk.decide(wants.request_id, "allow", remember=wants.suggestions)
        await it.ends()
        await it.says("again")  # the same command: no question
        assert not it.results["call_4"].is_error
        assert len(it.seen.of(f.AssistantPermissionRequest)) == 3
        assert it.text == ["One.", "Two.", "Three.", "Four."]


async def test_an_amendment_of_codex_policy_outlives_the_process(tmp_path: Path) -> None:
    replies: list[Answer] = [
        *(Say([beyond("touch a", "call_1")]), "One."),
        *(Say([beyond("touch a", "call_2")]), "Two."),
    ]
    async with stage(tmp_path, *replies) as it:
        await it.talk.send("go")
        wants = await it.wants()
        session, amendment = wants.suggestions
        assert (session["destination"], amendment["destination"]) == ("session", "userSettings")
        await it.talk.decide(wants.request_id, "allow", remember=[amendment])
        await it.ends()
        await it.stop()
        await it.start_again()
        await it.says("again")
        assert not it.results["call_2"].is_error
        assert not it.seen.of(f.AssistantPermissionRequest)


async def test_a_question_gets_its_answer(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([ask()]), "Blue it is.") as it:
        await it.talk.send("go")
        asked = await it.asked()
        assert asked.questions[0].question == "Which colour?"
        await it.talk.answer(asked.question_id, {"Which colour?": "Blue"})
        await it.ends()
        assert "Blue" in it.told["call_1"]
        assert it.text == ["Blue it is."]


async def test_a_plan_is_shown(tmp_path: Path) -> None:
    plan = [{"step": "Look", "status": "completed"}, {"step": "Do", "status": "in_progress"}]
    reply = Say([ToolUse("update_plan", {"plan": plan})])
    async with stage(tmp_path, reply, "Done.") as it:
        await it.says("go")
        assert [item["status"] for item in it.seen.view().plan] == ["completed", "in_progress"]


async def test_a_stop_ends_a_sleep_and_the_next_turn_works(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([run("sleep 1000")]), "Never.", "Hello again.") as it:
        await it.talk.send("go")
        await it.seen.until(f.AssistantToolCall)  # Codex tells of it after its start
        pid = await until_it_runs("sleep")
        receipt = await stop(it)
        assert receipt.acknowledged
        assert not wait_until_gone([pid])
        assert it.results["call_1"].is_error
        it.api.say_next()
        end = await it.says("hi")
        assert not end.is_error
        assert "codex" in programs().values()


@pytest.mark.parametrize(
    ("status", "code"), [(401, "unauthorized"), (500, "internal_server_error")]
)
async def test_an_error_of_the_model_is_the_end_of_the_turn(
    tmp_path: Path, status: int, code: str
) -> None:
    async with stage(tmp_path, *[Fail(status, "no luck")] * 8) as it:
        end = await it.says("go")
        assert end.error is not None
        assert (end.is_error, end.error.code) == (True, code)
