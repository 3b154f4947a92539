"""Which questions of an agent can be asked: one for each call, before its result."""

from __future__ import annotations

import pytest

from turnwire.core import events as ev
from turnwire.core.blocks import ContentBlock, TextBlock, ToolResultBlock
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


def test_old_calls_are_forgotten() -> None:
    rules = QuestionRules()
    for number in range(2000):
        rules.feed(result(f"t{number}"))
    rules.feed(asked("t1"))
    with pytest.raises(BadQuestion):
        rules.feed(asked("t1999"))
