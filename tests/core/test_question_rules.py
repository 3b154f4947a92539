"""Rules for questions of an agent: one for each call, before its result."""

from __future__ import annotations

import pytest

from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ToolResultBlock, ToolUseBlock
from turnwire.core.question_rules import BadQuestion, QuestionRules

WHOSE = ("agent", "s-1", None, None)
QUESTION = ev.Question("1", "Which colour?")


def asked(call: str = "t1", tool: str = "ask_human", *, request: str = "r1") -> ev.QuestionAsked:
    return ev.QuestionAsked(*WHOSE, request, call, tool, [QUESTION])


def result(call: str) -> ev.UserMessage:
    blocks: list[ContentBlock] = [
        TextBlock("Done.", "completed"),
        ToolResultBlock(call, "Done.", False, "completed"),
    ]
    return ev.UserMessage(*WHOSE, blocks, "tool")


def test_each_call_may_ask_once() -> None:
    rules = QuestionRules()
    rules.feed(ev.TurnStarted(*WHOSE))
    rules.feed(asked("t1"))
    rules.feed(asked("t2"))
    with pytest.raises(BadQuestion, match="announce another call"):
        rules.feed(asked("t1", request="r2"))


def test_no_call_may_ask_after_its_result() -> None:
    rules = QuestionRules()
    rules.feed(result("t1"))
    for tool in ("ask_human", "request_input"):
        with pytest.raises(BadQuestion, match="Ask before the result"):
            rules.feed(asked(tool=tool))


def test_a_question_names_a_call_and_asks_something() -> None:
    rules = QuestionRules()
    with pytest.raises(BadQuestion, match="Set `tool_use_id`"):
        rules.feed(asked(""))
    with pytest.raises(BadQuestion, match="at least one Question"):
        rules.feed(ev.QuestionAsked(*WHOSE, "r1", "t1", "ask_human", []))
    rules.feed(ev.QuestionAsked(*WHOSE, "r1", "t1", "ask_human", [], {"question": "Which colour?"}))


def test_a_call_that_has_its_questions_in_its_input_may_wait_for_them_again() -> None:
    rules = QuestionRules()
    rules.feed(asked(tool="request_input"))
    rules.feed(asked(tool="request_input", request="r2"))


def called(tool: str, given: dict[str, object], call: str = "t1") -> ev.AssistantMessage:
    block = ToolUseBlock(call, tool, "TOOL", given, "completed")
    return ev.AssistantMessage(*WHOSE, "m1", 0, [TextBlock("So:", "completed"), block])


def test_a_question_and_its_call_name_the_same_kind_of_tool() -> None:
    for announced, asks in (("ask_human", "request_input"), ("request_input", "ask_human")):
        rules = QuestionRules()
        rules.feed(called(announced, {"question": "Which colour?"}))
        with pytest.raises(BadQuestion, match="Use the same name in both"):
            rules.feed(asked(tool=asks))


def test_a_call_that_asks_by_its_name_has_its_question_in_its_input() -> None:
    rules = QuestionRules()
    rules.feed(called("request_input", {}))
    with pytest.raises(BadQuestion, match="Put its questions there"):
        rules.feed(asked(tool="request_input"))
    rules.feed(called("request_input", {"question": "Which colour?"}, "t2"))
    rules.feed(asked("t2", "request_input"))
    rules.feed(ev.QuestionAsked(*WHOSE, "r3", "t3", "request_input", []))


def test_a_question_and_its_call_agree_that_the_call_asks() -> None:
    for tool, of_call, of_question in (("ask_human", None, True), ("request_input", False, None)):
        rules = QuestionRules()
        block = ToolUseBlock("t1", tool, "TOOL", {"question": "So?"}, "completed", asks=of_call)
        rules.feed(ev.AssistantMessage(*WHOSE, "m1", 0, [block]))
        said = f"`asks={of_question}`, but its call 't1' has `asks={of_call}`"
        with pytest.raises(BadQuestion, match=said):
            rules.feed(ev.QuestionAsked(*WHOSE, "r1", "t1", tool, [QUESTION], asks=of_question))


def test_a_question_that_is_not_the_one_in_the_input_of_its_call_is_refused() -> None:
    rules = QuestionRules()
    given: dict[str, object] = {"question": "Which size?"}
    rules.feed(called("request_input", given))
    with pytest.raises(BadQuestion, match="asks \\['Which colour\\?'\\], but the input"):
        rules.feed(asked(tool="request_input"))
    # Claude's hooks may rewrite the input: the event has the new one, and the log the first.
    rules.feed(ev.QuestionAsked(*WHOSE, "r2", "t1", "request_input", [QUESTION], given))


def test_the_events_before_an_invalid_question_are_valid() -> None:
    good: list[ev.NormalizedStreamEvent] = [
        called("ask_human", {}),
        ev.TurnStarted(*WHOSE),
        asked(),
    ]
    assert QuestionRules().first_bad(good) is None
    bad = QuestionRules().first_bad([*good, asked(request="r2"), asked("t2")])
    assert bad is not None
    assert bad[0] == 3
    assert "announce another call" in bad[1].message


def test_old_calls_are_forgotten() -> None:
    rules = QuestionRules()
    for number in range(2000):
        rules.feed(result(f"t{number}"))
    rules.feed(asked("t1"))
    with pytest.raises(BadQuestion):
        rules.feed(asked("t1999"))
