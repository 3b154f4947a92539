"""Converts answers to text, for an agent that cannot take a tool result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from turnwire.core.events import Question

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


def in_words(answers: Iterable[Any], questions: Iterable[Sequence[Question]] = ()) -> str:
    """Returns late answers as a prompt. Without answers the prompt is a refusal.

    `questions`: what each answer is the answer to, which the prompt then quotes.
    """
    given, asked = list(answers), list(questions)
    if any(asked):
        told = [line for each in zip(asked, given, strict=True) for line in _quoted(*each)]
        return "\n".join(["You had asked me something before you were interrupted.", *told])
    said = "\n".join(map(as_text, given))
    if not said:
        return "I do not answer your question. Go on without an answer."
    return f"You had asked me something before you were interrupted. My answer: {said}"


def _quoted(questions: Sequence[Question], answer: Any) -> Iterator[str]:
    """Yields each question as a quotation, followed by its answer."""
    for question in questions:
        yield from (f"> {line}" for line in question.question.splitlines())
        said = answer
        # A single question takes any object as its answer.
        if isinstance(answer, dict) and (question.id in answer or len(questions) > 1):
            said = answer.get(question.id)
        yield "My answer: " + ("(none)" if said in (None, "", []) else as_text(said))
    if not questions:
        yield f"My answer: {as_text(answer)}"
