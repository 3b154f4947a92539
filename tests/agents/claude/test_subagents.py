"""Sub-agents, background work, and turns that the agent begins by itself."""

from __future__ import annotations

from pathlib import Path

from tests.agents.claude.helpers.real_claude import Stage, ask, bash, stage, touch, until_it_runs
from tests.agents.claude.helpers.subagent_calls import Lanes, send
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Hold, Say, ToolUse


async def test_concurrent_background_and_asking_sub_agents_run_in_one_conversation(
    tmp_path: Path,
) -> None:
    question = ToolUse("mcp__turnwire__request_input", {"question": "Which way?"}, id="ask_h")
    lanes: Lanes = {
        "look left": [Say([touch("left", "call_left")]), "Left is done."],
        "look right": [Say([touch("right", "call_right")]), "Right is done."],
        "look around": [Say([Hold("around"), "I have looked."])],
        "look behind": [Say([Hold("behind"), "I have looked behind."])],
        "look ahead": [Say([question]), "It was left."],
    }
    async with stage(tmp_path, lanes=lanes) as it:
        await two_at_once_each_with_its_permission(it)
        await one_in_the_background_and_the_turn_that_it_causes(it)
        await a_question_waits_in_the_process_while_something_works_in_the_background(it)
        await one_asks_and_is_answered(it)
        await a_command_in_the_background_ends_with_its_conversation(it)


async def two_at_once_each_with_its_permission(it: Stage) -> None:
    both = Say([send("look left", "agent_l"), send("look right", "agent_r")])
    it.api.say_next(both, "Both are back.")
    await it.talk.send("send two")
    first, second = await it.wants(), await it.wants()
    assert len((await it.talk.status()).requests) == 2, "both are open together"
    parents = {asked.tool_use_id: asked.parent_tool_use_id for asked in (first, second)}
    assert parents == {"call_left": "agent_l", "call_right": "agent_r"}
    for asked in (second, first):
        allowed = asked.tool_use_id == "call_left"
        await it.talk.decide(asked.request_id, "allow" if allowed else "deny")
    end = await it.ends()
    assert not end.is_error
    assert (it.work / "left").exists()
    assert not (it.work / "right").exists()
    assert it.results["call_left"].parent_tool_use_id == "agent_l"
    assert it.results["call_right"].is_error
    assert {"agent_l", "agent_r"} <= it.results.keys()
    assert it.text[-1] == "Both are back."


async def one_in_the_background_and_the_turn_that_it_causes(it: Stage) -> None:
    away = Say([send("look around", "agent_1", background=True)])
    it.api.say_next(away, "It is on its way.", "It is back.")
    end = await it.says("send one away")
    assert end.origin == "user"
    status = await it.talk.status()
    assert [task.tool_use_id for task in status.background_tasks] == ["agent_1"]
    it.api.release("around")
    started = await it.seen.until(f.TurnStarted)
    assert started.payload.origin == "agent"
    end = await it.ends()
    assert (end.origin, end.is_error) == ("agent", False)
    assert it.text[-1] == "It is back."
    assert not (await it.talk.status()).background_tasks


async def a_question_waits_in_the_process_while_something_works_in_the_background(
    it: Stage,
) -> None:
    away = Say([send("look behind", "agent_2", background=True)])
    it.api.say_next(away, Say([ask()]), "Blue.", "It is back again.")
    turns = len(it.seen.of(f.TurnStarted))
    await it.talk.send("send one away, then ask me")
    await it.asked()
    await it.talk.answer("ask_1", "Blue")
    await it.ends()
    assert "Blue" in it.told["ask_1"]
    assert len(it.seen.of(f.TurnStarted)) == turns + 1, "the process was still there"
    it.api.release("behind")
    await it.ends()
    assert it.text[-1] == "It is back again."


async def one_asks_and_is_answered(it: Stage) -> None:
    it.api.say_next(Say([send("look ahead", "agent_3")]), "Left, it says.")
    await it.talk.send("send one")
    asked = await it.asked()
    assert asked.parent_tool_use_id == "agent_3"
    await it.talk.answer("ask_h", "left")
    end = await it.ends()
    assert not end.is_error
    helper = [request for request in it.api.requests if request.lane == "look ahead"]
    assert "left" in str(helper[-1].tool_results["ask_h"]["content"])


async def a_command_in_the_background_ends_with_its_conversation(it: Stage) -> None:
    it.api.say_next(Say([bash("sh -c 'sleep 600'", run_in_background=True)]), "It sleeps.")
    await it.talk.send("sleep in the background")
    await it.talk.decide((await it.wants()).request_id, "allow")
    await it.ends()
    await until_it_runs("sleep")
    assert (await it.talk.status()).background_tasks
