"""Answers as text."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.core.answers import as_text, in_words


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
