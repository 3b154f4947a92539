"""Answers as text."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.answers import as_text, in_words
from turnwire.core.events import Question


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("blue", "blue"),
        (["blue", "red"], "blue, red"),
        ({"answer": "blue"}, "blue"),
        ({"Which?": "grün"}, '{"Which?":"grün"}'),
        (5, "5"),
    ],
)
def test_an_answer_as_text(answer: Any, text: str) -> None:
    assert as_text(answer) == text


def test_answers_become_text() -> None:
    assert in_words(["blue", ["s", "m"]]).endswith("My answer: blue\ns, m")
    assert in_words([]) == "I do not answer your question. Go on without an answer."


def test_answers_quote_their_questions() -> None:
    which = Question("Which?", "Which colour?\nOne of both.")
    size = Question("Size?", "Which size?")
    both = {"Which?": "blue", "Size?": ["s", "m"]}
    assert in_words(["blue", both, "x"], [[which], [which, size], []]).splitlines() == [
        "You had asked me something before you were interrupted.",
        *("> Which colour?", "> One of both.", "My answer: blue"),
        *("> Which colour?", "> One of both.", "My answer: blue"),
        *("> Which size?", "My answer: s, m"),
        "My answer: x",
    ]
    assert in_words([{"Which?": ""}], [[which]]).endswith("My answer: (none)")
    assert in_words([{"colour": "blue"}], [[which]]).endswith(': {"colour":"blue"}')
    assert in_words([{"answer": "blue"}], [[Question("answer", "Which?")]]).endswith(": blue")
