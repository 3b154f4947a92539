"""Questions of the real Claude Code outlive the process that asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.claude.helpers.real_claude import (
    COLOURS,
    SIZES,
    Stage,
    ask,
    bash,
    kill_claude,
    stage,
    stop,
)
from turnwire.core import controls as c
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say, ToolUse


def request_input(call: str) -> ToolUse:
    asked = {"question": "Which colour?", "options": ["Blue", "Red"]}
    return ToolUse("mcp__turnwire__request_input", asked, id=call)


def outcomes(it: Stage) -> dict[str, str]:
    resolved = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
    return {each.request_id: each.outcome for each in resolved}


# --- deferred: the process that asked is gone ---------------------------------------------------


async def test_deferred_questions_of_one_conversation_are_answered(tmp_path: Path) -> None:
    """Each question is asked by the process that got the answer to the one before."""
    async with stage(tmp_path) as it:
        await several_are_answered_with_several_choices_and_own_words(it)
        await one_of_ours_is_answered_and_by_no_other_conversation(it)
        await one_is_answered_by_the_next_server(it)
        await of_two_at_once_the_second_has_to_wait(it)
        await an_abandoned_question_is_withdrawn_and_blocks_no_control(it)


async def several_are_answered_with_several_choices_and_own_words(it: Stage) -> None:
    it.api.say_next(Say(["Hm.", ask("ask_1", COLOURS, SIZES)]), "Good.", "Bye.")
    await it.talk.send("ask me")
    asked = await it.asked()
    assert [(q.id, q.question, q.multi) for q in asked.questions] == [
        ("Which colour?", "Which colour?", False),
        ("Which sizes?", "Which sizes?", True),
    ]
    await it.sleeps()
    status = await it.talk.status()
    assert (status.state, status.running) == ("waiting_input", False)
    assert not it.seen.of(f.AssistantComplete), "the turn waits"
    with pytest.raises(Refused, match=r"no question 'nope'.*'Which colour\?'") as refused:
        await it.talk.answer("ask_1", {"nope": "x"})
    assert refused.value.code == "INVALID_PAYLOAD"
    answers = {"Which colour?": "the colour of the sea", "Which sizes?": ["Blue", "Red"]}
    answer = await it.talk.answer(asked.question_id, answers, user="ann")
    assert answer.ack.delivered_as == "tool_result"
    assert not (await it.ends()).is_error
    assert '"Which colour?"="the colour of the sea"' in it.told["ask_1"]
    assert '"Which sizes?"="Blue, Red"' in it.told["ask_1"]
    assert "the colour of the sea" in str(it.results["ask_1"].content)
    assert [start.payload.origin for start in it.seen.of(f.TurnStarted)] == ["user", "resume"]
    await it.says("bye")
    assert it.text == ["Hm.", "Good.", "Bye."]


async def one_of_ours_is_answered_and_by_no_other_conversation(it: Stage) -> None:
    it.api.say_next(Say(["Hm.", request_input("ask_2")]), "Blue it is.", "Bye again.")
    await it.talk.send("ask me")
    asked = await it.asked()
    assert [q.question for q in asked.questions] == ["Which colour?"]
    await it.sleeps()
    other = await it.engine.create("claude", cwd=str(it.work))
    with pytest.raises(Refused) as refused:
        await other.answer("ask_2", "Blue")
    assert refused.value.code == "NO_PENDING_INPUT"
    assert len((await it.talk.status()).requests) == 1, "nothing is lost"
    answer = await it.talk.answer("ask_2", {"Which colour?": "Blue"}, user="ann")
    assert answer.ack.delivered_as == "tool_result"
    assert not (await it.ends()).is_error
    assert "Blue" in it.told["ask_2"]
    assert "Blue" in str(it.results["ask_2"].content)
    await it.says("bye")
    assert it.text[-3:] == ["Hm.", "Blue it is.", "Bye again."]


async def of_two_at_once_the_second_has_to_wait(it: Stage) -> None:
    both = Say([ask("ask_3"), ask("ask_4"), bash("echo meanwhile")])
    it.api.say_next(both, Say([ask("ask_5")]), "Good.")
    await it.talk.send("ask me")
    await it.sleeps()
    [request] = (await it.talk.status()).requests
    assert request.request_id == "ask_3"
    shown = [asked.payload.question_id for asked in it.seen.of(f.AssistantRequestInput)]
    assert "ask_4" not in shown, "a question that will not be asked is not shown"
    [refused] = it.news("question_refused")
    assert (refused["tool_use_id"], refused["input"]["questions"]) == ("ask_4", [COLOURS])
    await it.talk.answer("ask_3", "Blue")
    await it.seen.until(f.AssistantRequestInput, lambda a: a.payload.question_id == "ask_5")
    await it.sleeps()
    await it.talk.answer("ask_5", "Red")
    end = await it.ends()
    assert not end.is_error
    assert "Blue" in it.told["ask_3"]
    assert "Red" in it.told["ask_5"]
    assert it.told["bash_1"] == "meanwhile"
    became = outcomes(it)
    assert (became["ask_3"], became["ask_5"]) == ("answered", "answered")
    assert "ask_4" not in became
    assert "one question at a time" in it.told["ask_4"]


async def an_abandoned_question_is_withdrawn_and_blocks_no_control(
    it: Stage,
) -> None:
    it.api.say_next(Say([ask("ask_6")]), "Something else, then.")
    await it.talk.send("ask me")
    await it.sleeps()
    with pytest.raises(Refused, match="is not running while a question is open"):
        await it.talk.control(c.McpStatus())
    asked = len(it.api.requests)
    await stop(it)
    assert outcomes(it)["ask_6"] == "cancelled"
    told = (await it.talk.control(c.McpStatus())).ack.result
    assert told.servers  # type: ignore[union-attr]
    assert (await it.talk.status()).state == "interrupted", "no turn came of it"
    end = await it.says("something else")
    assert not end.is_error
    assert it.text[-1] == "Something else, then."
    assert len(it.api.requests) == asked + 1, "the model heard of it with the next prompt only"
    assert "doesn't want" in it.told["ask_6"]


async def one_is_answered_by_the_next_server(it: Stage) -> None:
    it.api.say_next(Say([ask("ask_7")]), "Blue it is.")
    await it.talk.send("ask me")
    await it.asked()
    await it.stop()
    await it.start_again()
    answer = await it.talk.answer("ask_7", "Blue")
    assert answer.ack.delivered_as == "tool_result"
    assert not (await it.ends()).is_error
    assert "Blue" in it.told["ask_7"]


# --- held: the process waits for the answer -----------------------------------------------------


async def test_questions_that_are_held_in_one_conversation(tmp_path: Path) -> None:
    async with stage(tmp_path, hold=60.0) as it:
        for call in (ask("ask_1"), request_input("ask_2")):
            await one_is_answered_while_its_process_is_there(it, call)
        await another_one_may_follow_in_the_same_turn(it)
        await a_stop_takes_it_back(it)
        await one_is_answered_by_the_next_server(it)
        await one_whose_process_was_lost_is_answered_in_words(it)


async def one_is_answered_while_its_process_is_there(it: Stage, tool: ToolUse) -> None:
    it.api.say_next(Say([tool]), "Red it is.")
    turns = len(it.seen.of(f.TurnStarted))
    await it.talk.send("ask me")
    asked = await it.asked()
    answer = await it.talk.answer(asked.question_id, "Red")
    assert answer.ack.delivered_as == "tool_result"
    await it.ends()
    assert tool.id is not None
    assert "Red" in it.told[tool.id]
    assert len(it.seen.of(f.TurnStarted)) == turns + 1, "nothing was resumed"
    offered = [each["name"] for each in it.api.requests[0].body["tools"]]
    assert tool.name in offered, "the model need not look for it"


async def another_one_may_follow_in_the_same_turn(it: Stage) -> None:
    it.api.say_next(Say([ask("ask_3")]), Say([ask("ask_4")]), "Good.")
    await it.talk.send("ask me")
    for call, answer in [("ask_3", "Blue"), ("ask_4", "Red")]:
        assert (await it.asked()).question_id == call
        await it.held(call)
        await it.talk.answer(call, answer)
    end = await it.ends()
    assert not end.is_error
    assert "Blue" in it.told["ask_3"]
    assert "Red" in it.told["ask_4"]


async def a_stop_takes_it_back(it: Stage) -> None:
    it.api.say_next(Say([ask("ask_5")]), it.answer_to("go on", "Again."))
    await it.talk.send("ask me")
    await it.asked()
    await stop(it)
    assert outcomes(it)["ask_5"] == "cancelled"
    end = await it.says("go on")
    assert not end.is_error
    assert it.text[-1] == "Again."


async def one_whose_process_was_lost_is_answered_in_words(it: Stage) -> None:
    it.api.say_next(Say([ask("ask_8")]), "I see.")
    await it.talk.send("ask me")
    await it.asked()
    kill_claude()
    await it.sleeps()
    answer = await it.talk.answer("ask_8", "Blue")
    assert answer.ack.delivered_as == "prompt"
    end = await it.ends()
    assert not end.is_error
    assert "My answer: Blue" in str(it.api.requests[-1].messages[-1])
