"""Questions of the real Claude Code: they outlive the process that asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.claude.stage import COLOURS, SIZES, ask, bash, kill_claude, stage
from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import frames as f
from turnwire.testing.model_api import Say, ToolUse


def request_input(call: str = "ask_1", **more: object) -> ToolUse:
    asked = {"question": "Which colour?", "options": ["Blue", "Red"], **more}
    return ToolUse("mcp__turnwire__request_input", asked, id=call)


@pytest.mark.parametrize("tool", [ask(), request_input()], ids=["AskUserQuestion", "request_input"])
async def test_a_question_is_answered_when_its_process_is_gone(
    tmp_path: Path, tool: ToolUse
) -> None:
    async with stage(tmp_path, Say(["Hm.", tool]), "Blue it is.", "Bye.") as it:
        await it.talk.send("ask me")
        asked = await it.asked()
        assert [q.question for q in asked.questions] == ["Which colour?"]
        await it.sleeps()
        status = await it.talk.status()
        assert (status.state, status.running) == ("waiting_input", False)
        assert not it.seen.of(f.AssistantComplete), "the turn waits"
        answer = await it.talk.answer(asked.question_id, "Blue", user="ann")
        assert answer.ack.delivered_as == "tool_result"
        end = await it.ends()
        assert not end.is_error
        assert "Blue" in it.told["ask_1"]
        assert "Blue" in str(it.results["ask_1"].content)
        assert [start.payload.origin for start in it.seen.of(f.TurnStarted)] == ["user", "resume"]
        await it.says("bye")
        assert it.text == ["Hm.", "Blue it is.", "Bye."]


@pytest.mark.parametrize("tool", [ask(), request_input()], ids=["AskUserQuestion", "request_input"])
async def test_a_question_is_answered_while_its_process_is_there(
    tmp_path: Path, tool: ToolUse
) -> None:
    async with stage(tmp_path, Say([tool]), "Red it is.", hold=60.0) as it:
        await it.talk.send("ask me")
        asked = await it.asked()
        answer = await it.talk.answer(asked.question_id, "Red")
        assert answer.ack.delivered_as == "tool_result"
        await it.ends()
        assert "Red" in it.told["ask_1"]
        assert len(it.seen.of(f.TurnStarted)) == 1, "nothing was resumed"
        offered = [each["name"] for each in it.api.requests[0].body["tools"]]
        assert tool.name in offered, "the model need not look for it"


async def test_several_questions_several_choices_and_own_words(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([ask("ask_1", COLOURS, SIZES)]), "Good.") as it:
        await it.talk.send("ask me")
        asked = await it.asked()
        assert [(q.id, q.multi) for q in asked.questions] == [
            ("Which colour?", False),
            ("Which sizes?", True),
        ]
        answers = {"Which colour?": "the colour of the sea", "Which sizes?": ["Blue", "Red"]}
        await it.talk.answer(asked.question_id, answers)
        await it.ends()
        assert '"Which colour?"="the colour of the sea"' in it.told["ask_1"]
        assert '"Which sizes?"="Blue, Red"' in it.told["ask_1"]


async def test_of_two_questions_at_once_the_second_has_to_wait(tmp_path: Path) -> None:
    both = Say([ask("ask_1"), ask("ask_2"), bash("echo meanwhile")])
    async with stage(tmp_path, both, Say([ask("ask_3")]), "Good.") as it:
        await it.talk.send("ask me")
        await it.sleeps()
        [request] = (await it.talk.status()).requests
        assert request.request_id == "ask_1"
        assert [asked.payload.question_id for asked in it.seen.of(f.AssistantRequestInput)] == [
            "ask_1"
        ], "nobody was shown a question that will not be asked"
        [refused] = it.news("question_refused")
        assert (refused["tool_use_id"], refused["input"]["questions"]) == ("ask_2", [COLOURS])
        await it.talk.answer("ask_1", "Blue")
        third = await it.seen.until(
            f.AssistantRequestInput, lambda a: a.payload.question_id == "ask_3"
        )
        await it.sleeps()
        await it.talk.answer(third.payload.question_id, "Red")
        end = await it.ends()
        assert not end.is_error
        assert "Blue" in it.told["ask_1"]
        assert "Red" in it.told["ask_3"]
        assert it.told["bash_1"] == "meanwhile"
        outcomes = [frame.payload for frame in it.seen.of(f.AssistantRequestResolved)]
        assert {o.request_id: o.outcome for o in outcomes} == {
            "ask_1": "answered",
            "ask_3": "answered",
        }
        assert "one question at a time" in it.told["ask_2"]


async def test_after_a_question_that_was_held_another_one_may_follow_in_the_same_turn(
    tmp_path: Path,
) -> None:
    first, second = Say([ask("ask_1")]), Say([ask("ask_2")])
    async with stage(tmp_path, first, second, "Good.", hold=60.0) as it:
        await it.talk.send("ask me")
        for call, answer in [("ask_1", "Blue"), ("ask_2", "Red")]:
            assert (await it.asked()).question_id == call
            await it.held(call)
            await it.talk.answer(call, answer)
        end = await it.ends()
        assert not end.is_error
        assert "Blue" in it.told["ask_1"]
        assert "Red" in it.told["ask_2"]


async def test_a_question_that_nobody_answers_any_more_is_taken_back(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([ask()]), "Something else, then.") as it:
        await it.talk.send("ask me")
        await it.sleeps()
        await it.talk.interrupt(1)
        end = await it.ends()
        assert end.interrupted
        end = await it.says("something else")
        assert not end.is_error
        assert it.text == ["Something else, then."]
        assert len(it.api.requests) == 2, "the model heard of it with the next prompt only"
        assert "doesn't want" in it.told["ask_1"]


@pytest.mark.parametrize("hold", [0.0, 60.0], ids=["put_aside", "held"])
async def test_a_question_is_answered_by_the_next_server(tmp_path: Path, hold: float) -> None:
    async with stage(tmp_path, Say([ask()]), "Blue it is.", hold=hold) as it:
        await it.talk.send("ask me")
        await it.asked()
        await it.stop()
        await it.start_again()
        answer = await it.talk.answer("ask_1", "Blue")
        assert answer.ack.delivered_as == "tool_result"
        await it.ends()
        assert "Blue" in it.told["ask_1"]


async def test_a_question_whose_process_was_lost_while_it_was_held_is_answered_in_words(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path, "Hello.", Say([ask()]), "I see.", hold=60.0) as it:
        await it.says("hi")
        await it.talk.send("ask me")
        await it.asked()
        kill_claude()
        await it.sleeps()
        answer = await it.talk.answer("ask_1", "Blue")
        assert answer.ack.delivered_as == "prompt"
        end = await it.ends()
        assert not end.is_error
        assert "My answer: Blue" in str(it.api.requests[-1].messages[-1])


async def test_an_answer_to_a_question_that_was_not_asked_is_refused(tmp_path: Path) -> None:
    async with stage(tmp_path, Say([ask()]), "Blue it is.") as it:
        await it.talk.send("ask me")
        await it.sleeps()
        with pytest.raises(Refused, match=r"no question 'nope'.*'Which colour\?'") as refused:
            await it.talk.answer("ask_1", {"nope": "x"})
        assert refused.value.code == "INVALID_PAYLOAD"
        await it.talk.answer("ask_1", {"Which colour?": "Blue"})
        assert not (await it.ends()).is_error
        assert "Blue" in it.told["ask_1"]
