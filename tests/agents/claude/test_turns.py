"""Turns of the real Claude Code: text, thinking, tools and permissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents.claude.helpers.real_claude import Stage, bash, programs, stage, touch
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import RedactedThinking, Say, Text, Thinking, ToolUse


async def test_twenty_turns_of_one_process_with_text_thinking_tools_and_permissions(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as it:
        await text_and_thinking(it)
        [process] = claudes()
        await parallel_tools_each_with_its_own_permission(it)
        await a_tool_is_allowed_denied_changed_and_allowed_for_good(it)
        before = len(it.text)
        more = [f"Number {number}." for number in range(20 - len(it.seen.of(f.AssistantComplete)))]
        it.api.say_next(*more)
        for number in range(len(more)):
            end = await it.says(f"say {number}")
            assert not end.is_error
            assert claudes() == [process]
        assert it.text[before:] == more
        assert len(it.seen.of(f.AssistantComplete)) == 20


def claudes() -> list[int]:
    return [pid for pid, name in programs().items() if name == "claude"]


async def text_and_thinking(it: Stage) -> None:
    thought = Say([Thinking("Let me think.", cuts=3), RedactedThinking(), Text("42.", cuts=2)])
    it.api.say_next("Hello.", thought, "Bye.")
    end = await it.says("hi")
    assert (end.is_error, end.stop_reason, end.origin) == (False, "end_turn", "user")
    assert end.usage is not None
    assert (end.usage.input_tokens, end.usage.output_tokens) == (100, 20)
    first = end.cost_usd
    assert first
    end = await it.says("what is it?")
    assert end.cost_usd == first, "a turn's cost is its own"
    await it.says("bye")
    assert it.text == ["Hello.", "42.", "Bye."]
    thinking = [frame.payload for frame in it.seen.of(f.AssistantThinking)]
    assert "Let me think." in [each.text for each in thinking if not each.partial]
    row = await it.store.conversation("talk")
    assert row is not None
    assert row.native_session_id
    assert {request.lane for request in it.api.requests} == {""}


async def parallel_tools_each_with_its_own_permission(it: Stage) -> None:
    both = Say(["Two at once.", touch("x", "call_x"), touch("y", "call_y"), bash("echo hi", "c")])
    it.api.say_next(both, "All done.")
    await it.talk.send("do three things")
    for _ in range(2):
        asked = await it.wants()
        verdict = "allow" if asked.tool_use_id == "call_x" else "deny"
        await it.talk.decide(asked.request_id, verdict)  # type: ignore[arg-type]
    await it.ends()
    assert {call: result.is_error for call, result in it.results.items()} == {
        "call_x": False,
        "call_y": True,
        "c": False,
    }
    assert it.text[-2:] == ["Two at once.", "All done."]


async def a_tool_is_allowed_denied_changed_and_allowed_for_good(it: Stage) -> None:
    it.api.say_next(
        *(Say([touch("a", "call_a")]), "Done."),
        *(Say([touch("b", "call_b")]), "Then not."),
        *(Say([touch("c", "call_c")]), "Done."),
        *(Say([bash("rm a", "call_d")]), Say([bash("rm other", "call_e")]), "Done."),
    )
    before = len(it.seen.of(f.AssistantPermissionRequest))
    await it.talk.send("make a")
    asked = await it.wants()
    assert (asked.tool_name, asked.tool_use_id) == ("Bash", "call_a")
    assert asked.input == {"command": "touch a; echo made a"}
    await it.talk.decide(asked.request_id, "allow", user="ann")
    await it.ends()
    assert (it.work / "a").exists()
    assert it.told["call_a"] == "made a"

    await it.talk.send("make b")
    asked = await it.wants()
    await it.talk.decide(asked.request_id, "deny", reason="Not that one.")
    await it.ends()
    assert not (it.work / "b").exists()
    assert it.results["call_b"].is_error
    assert "Not that one." in it.told["call_b"]

    await it.talk.send("make c")
    asked = await it.wants()
    changed = {"command": "touch other; echo made other"}
    await it.talk.decide(asked.request_id, "allow", updated_input=changed)
    await it.ends()
    assert (it.work / "other").exists()
    assert not (it.work / "c").exists()

    await it.talk.send("tidy up")
    asked = await it.wants()
    assert {"addRules", "setMode"} <= {each["type"] for each in asked.suggestions}
    await it.talk.decide(asked.request_id, "allow", remember=asked.suggestions)
    end = await it.ends()
    assert not end.is_error
    assert not (it.work / "other").exists(), "the second call needs no permission"
    assert len(it.seen.of(f.AssistantPermissionRequest)) == before + 4


async def test_another_model_and_mode_hold_at_once_and_after_a_restart(
    tmp_path: Path,
) -> None:
    allowed = {"IS_SANDBOX": "1"}  # even a process that is started with it would have it
    async with stage(tmp_path, "Hello.", models=["claude-opus-4-5"], env=allowed) as it:
        await it.says("hi")
        await a_mode_that_claude_refuses_is_not_in_force_later(it)
        await another_model_and_another_mode_are(it)


async def a_mode_that_claude_refuses_is_not_in_force_later(it: Stage) -> None:
    await it.talk.set_permission_mode("bypassPermissions")
    news = await it.seen.until(
        f.SessionSystemEvent, lambda frame: frame.payload.subtype == "choice_refused"
    )
    assert news.payload.data["stays"] == {"permission_mode": "default"}
    await it.seen.until(f.SessionState, lambda frame: frame.payload.permission_mode == "default")
    await it.stop()
    await it.start_again()
    it.api.say_next(Say([touch("never")]), "Then not.")
    await it.talk.send("touch it")
    asked = await it.wants()
    await it.talk.decide(asked.request_id, "deny")
    await it.ends()
    assert not (it.work / "never").exists()
    assert (await it.talk.status()).permission_mode == "default"


async def another_model_and_another_mode_are(it: Stage) -> None:
    made = [Say([ToolUse("Write", {"file_path": name, "content": "x"})]) for name in ("a", "b")]
    it.api.say_next(made[0], "Done.", made[1], "Done.")
    with pytest.raises(Refused, match=r"no model 'opus'. Choose one of: default, claude-opus-4-5"):
        await it.talk.set_model("opus")
    answer = await it.talk.set_model("claude-opus-4-5", user="ann")
    assert answer.ack.model == "claude-opus-4-5"
    await it.talk.set_permission_mode("acceptEdits")
    await it.says("write a")
    assert (it.work / "a").exists(), "no permission was requested"
    assert it.api.requests[-1].body["model"] == "claude-opus-4-5"
    status = await it.talk.status()
    assert (status.model, status.permission_mode) == ("claude-opus-4-5", "acceptEdits")
    await it.stop()
    await it.start_again()
    await it.says("write b")
    assert (it.work / "b").exists()
    assert it.api.requests[-1].body["model"] == "claude-opus-4-5"


async def test_own_tools_hooks_and_sub_agents_work_as_with_the_sdk(tmp_path: Path) -> None:
    from claude_agent_sdk import (
        AgentDefinition,
        ClaudeAgentOptions,
        HookMatcher,
        create_sdk_mcp_server,
        tool,
    )

    @tool("add", "Add two numbers.", {"a": int, "b": int})  # type: ignore[untyped-decorator]
    async def add(given: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"It is {given['a'] + given['b']}."}]}

    async def no_echo(given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        said = {"hookEventName": "PreToolUse", "permissionDecision": "deny"}
        return {"hookSpecificOutput": {**said, "permissionDecisionReason": "Not here."}}

    options = ClaudeAgentOptions(
        model="claude-sonnet-4-5",
        mcp_servers={"mine": create_sdk_mcp_server("mine", tools=[add])},
        allowed_tools=["mcp__mine__add"],
        hooks={"PreToolUse": [HookMatcher(matcher="Bash", hooks=[no_echo])]},
        agents={"helper": AgentDefinition(description="helps", prompt="You help.", tools=["Bash"])},
    )
    calls = Say([ToolUse("mcp__mine__add", {"a": 2, "b": 3}, id="add_1"), bash("echo hi")])
    sent = {"description": "help", "prompt": "lend a hand", "subagent_type": "helper"}
    send = Say([ToolUse("Agent", {**sent, "run_in_background": False}, id="agent_1")])
    lanes = {"lend a hand": ["Here it is."]}
    async with stage(tmp_path, calls, send, "Done.", lanes=lanes, options=options) as it:
        await it.says("add")
        assert it.told["add_1"] == "It is 5."
        assert "Not here." in it.told["bash_1"]
        assert "Here it is." in it.told["agent_1"]
