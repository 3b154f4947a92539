"""Converts answers to text, for an agent that cannot take a tool result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

__all__ = ["as_text", "in_words"]


def as_text(answer: Any) -> str:
    """Returns an answer, or the part of it for one question, as text."""
    match answer:
        case str():
            return answer
        case list():
            return ", ".join(as_text(each) for each in answer)
        case {"answer": only} if len(answer) == 1:  # request_input has one question with this name
            return as_text(only)
        case _:
            return msgspec.json.encode(answer).decode()


def in_words(answers: Iterable[Any]) -> str:
    """Returns late answers as a prompt. Without answers the prompt is a refusal."""
    said = "\n".join(as_text(answer) for answer in answers)
    if not said:
        return "I do not answer your question. Go on without an answer."
    return f"You had asked me something before you were interrupted. My answer: {said}"
