"""The questions of an agent that is a function, and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core.questions import ONLY

__all__ = ["Answers", "Ask", "answers_of", "form_input", "question_input", "words_of"]

# By the text of the question. A question with `multi` has a list.
Answers: TypeAlias = dict[str, str | list[str]]


class Ask(Struct, frozen=True):
    """Asks a person. The yield returns the answer: one of the options, or the person's own words.

    - `options`: labels, or pairs of a label and its description.
    - `multi`: the person may choose several; then the answer is a list.
    - `free_text`: the person may answer in their own words.
    - `header`: a short label for the question.

    A list of several is one form: the yield returns a dict with the answer to each question.

    Example:

        size = yield Ask("Which size?", ["small", ("large", "enough for two")])
        order = yield [Ask("Which dish?"), Ask("Which extras?", ["milk", "ice"], multi=True)]
        dish, extras = order["Which dish?"], order["Which extras?"]
    """

    question: str
    options: Sequence[str | tuple[str, str]] = ()
    multi: bool = False
    free_text: bool = True
    header: str | None = None


def question_input(ask: Ask) -> dict[str, Any]:
    """Returns a question as the input of a call that asks. Fields with their default are absent.

    Raises ValueError if the question has no text, TypeError if its options are one text.
    """
    if not ask.question.strip():
        raise ValueError("A question has a text; this one is empty.")
    if isinstance(ask.options, str):
        raise TypeError(f"The options of a question are a list: write [{ask.options!r}].")
    given: dict[str, Any] = {
        "question": ask.question,
        "options": [_option(each) for each in ask.options],
    }
    if ask.multi:
        given["multiSelect"] = True
    if not ask.free_text:
        given["free_text"] = False
    if ask.header is not None:
        given["header"] = ask.header
    return given


def form_input(asks: Sequence[Ask]) -> dict[str, Any]:
    """Returns several questions as the input of one call. Raises ValueError if two are the same."""
    texts = [ask.question for ask in asks]
    if not texts:
        raise ValueError("A form has at least one question.")
    if len(set(texts)) < len(texts):
        raise ValueError("Two questions of a form have the same text: their answers have it, too.")
    return {"questions": [question_input(ask) for ask in asks]}


def answers_of(answer: Any, asks: Sequence[Ask]) -> Answers:
    """Returns the answer to each question of a form; a question that was skipped has an empty one."""
    given = answer if isinstance(answer, dict) else {asks[0].question: answer}
    return {ask.question: _value(given.get(ask.question), ask.multi) for ask in asks}


def words_of(answer: Any) -> str:
    """Returns an answer as text. Clients may send the answer to the only question as an object."""
    if isinstance(answer, dict):
        if ONLY in answer:
            return words_of(answer[ONLY])
        return "\n".join(f"{question} {words_of(each)}" for question, each in answer.items())
    if isinstance(answer, list):
        return ", ".join(map(words_of, answer))
    return "" if answer is None else str(answer)


def _option(option: str | tuple[str, str]) -> str | dict[str, str]:
    if isinstance(option, str):
        return option
    label, description = option
    return {"label": label, "description": description}


def _value(given: Any, multi: bool) -> str | list[str]:
    if not multi:
        return words_of(given)
    if isinstance(given, list):
        return [words_of(each) for each in given]
    return [words_of(given)] if given else []
