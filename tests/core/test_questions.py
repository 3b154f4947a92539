"""Questions to a person, read from a tool's input however the model wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.events import Question, QuestionOption
from turnwire.core.questions import asks_a_person, questions_of


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
def test_some_tools_ask_a_person(tool: str, asks: bool) -> None:
    assert asks_a_person(tool) is asks


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
