"""Questions to a person, read from any form of a tool's input."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.blocks import ToolUseBlock
from turnwire.core.events import Question, QuestionAsked, QuestionOption
from turnwire.core.message import Message, ToolCallPart, ToolCallPayload
from turnwire.core.message_codec import decode_message, encode
from turnwire.core.parts import tool_call
from turnwire.core.questions import questions_of


@pytest.mark.parametrize(
    ("tool", "asks"),
    [
        ("AskUserQuestion", True),
        ("request_input", True),
        ("mcp__front__request_input", True),
        ("Bash", False),
        ("my__request_input", False),
        ("mcp__front__request_inputs", False),
    ],
)
def test_a_call_that_does_not_say_whether_it_asks_is_known_by_its_tool(
    tool: str, asks: bool
) -> None:
    assert ToolUseBlock("t1", tool, "OTHER", {}, "completed").is_question is asks
    assert ToolCallPayload("t1", tool, {}).is_question is asks
    assert QuestionAsked("a", "s", None, None, "r1", "t1", tool, []).is_question is asks


@pytest.mark.parametrize(("tool", "asks"), [("poll", True), ("request_input", False)])
def test_a_call_that_says_whether_it_asks_is_believed(tool: str, asks: bool) -> None:
    block = ToolUseBlock("t1", tool, "OTHER", {}, "completed", asks=asks)
    assert block.is_question is asks
    assert QuestionAsked("a", "s", None, None, "r1", "t1", tool, [], asks=asks).is_question is asks
    kept = decode_message(encode(Message("c:1", "assistant", [ToolCallPart(tool_call(block))], "")))
    [part] = kept.parts
    assert isinstance(part, ToolCallPart)
    assert part.payload.is_question is asks


def test_the_log_says_which_calls_ask_and_nothing_of_the_others() -> None:
    def kept(tool: str) -> bool | None:
        return tool_call(ToolUseBlock("t1", tool, "OTHER", {}, "completed")).asks

    assert (kept("request_input"), kept("Bash")) == (True, None)


@pytest.mark.parametrize(
    ("tool_input", "questions"),
    [
        (None, []),
        ("what?", []),
        ({"questions": []}, []),
        ({"questions": ["odd", {"question": "A?"}]}, [Question("A?", "A?")]),
        ({"question": "A?"}, [Question("answer", "A?")]),
        ({"prompt": "A?", "options": None}, [Question("answer", "A?")]),
        (
            {"question": "A?", "options": ["yes", {"label": "no", "description": "never"}, {}, 7]},
            [
                Question(
                    "answer",
                    "A?",
                    [
                        QuestionOption("yes"),
                        QuestionOption("no", "never"),
                        QuestionOption(""),
                        QuestionOption("7"),
                    ],
                )
            ],
        ),
        (
            {"question": "A?", "options": ["yes"], "free_text": False},
            [Question("answer", "A?", [QuestionOption("yes")], free_text=False)],
        ),
        (  # there is nothing to choose from
            {"questions": [{"question": "A?", "free_text": False}]},
            [Question("A?", "A?")],
        ),
        ({}, [Question("answer", "")]),
    ],
)
def test_questions_are_read_from_the_input(tool_input: Any, questions: list[Question]) -> None:
    assert questions_of(tool_input) == questions
