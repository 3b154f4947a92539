"""Asking a person at the terminal: the question first, then lines until the answer is clear."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct
from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, input_of
from turnwire.cli.live.requests import (
    Answer,
    NotUnderstood,
    answer_of,
    answered_words,
    hint_of,
    permission_lines,
    question_lines,
    read_answer,
    rules_of,
)
from turnwire.cli.live.terminal import TerminalPainter
from turnwire.cli.visible import safe
from turnwire.cli.words import plain
from turnwire.core.events import Question
from turnwire.core.status import OpenRequest

__all__ = ["Decision", "ask_permission", "ask_question"]


class Decision(Struct, frozen=True):
    """What a person decided on a permission."""

    decision: Literal["allow", "deny"]
    reason: str | None = None
    updated_input: Any = None
    remember: list[Any] = []


async def ask_question(painter: TerminalPainter, request: OpenRequest) -> Any:
    """Every question of a request, one after the other; None if the person would rather not."""
    questions = request.questions or [Question("answer", "")]
    painter.forget_keys()
    answers: list[Answer] = []
    for question in questions:
        painter.note(question_lines([question], request.input if not question.question else None))
        answer = await _answer(painter, question, request.required)
        if answer is None:
            return None
        answers.append(answer)
        painter.note([_arrow(answered_words(answer))])
    return answer_of(questions, answers)


async def _answer(painter: TerminalPainter, question: Question, required: bool) -> Answer | None:
    while True:
        line = await painter.read_line(f"{hint_of(question)}; Ctrl-D leaves it open")
        if line is None:
            return None
        try:
            answer = read_answer(question, line)
        except NotUnderstood as problem:
            painter.note([Text(str(problem), "yellow")])
            continue
        if answer or not required:
            return answer
        painter.note([Text("It wants an answer. Ctrl-D leaves it open.", "yellow")])


async def ask_permission(painter: TerminalPainter, request: OpenRequest) -> Decision | None:
    """Yes, no, always, or something else instead; None if the person would rather not say."""
    painter.note(permission_lines(request))
    painter.forget_keys()
    given: Any = None  # what is to run instead
    while True:
        line = await painter.read_line(_choices(request, given))
        if line is None:
            return None
        match line.strip().casefold():
            case "y" | "yes":
                painter.note([_arrow("allowed" if given is None else "allowed, as changed")])
                return Decision("allow", updated_input=given)
            case "n" | "no":
                reason = await painter.read_line("Why? The agent is told. Enter: no reason")
                words = (reason or "").strip()
                painter.note([_arrow(f"denied: {words}" if words else "denied")])
                return Decision("deny", words or None)
            case "a" | "always" if request.suggestions and given is None:
                painter.note([_arrow(f"always allowed: {rules_of(request.suggestions)}")])
                return Decision("allow", remember=request.suggestions)
            case "e" | "edit":
                given = await _edit(painter, request, given)
            case _:
                painter.note([Text("Please answer with one of the letters.", "yellow")])


def _choices(request: OpenRequest, given: Any) -> str:
    words = ["y: allow", "n: deny"]
    if request.suggestions and given is None:
        words.append(f"a: always ({rules_of(request.suggestions)})")
    return "  ".join([*words, "e: edit", "Ctrl-D: stop"])


async def _edit(painter: TerminalPainter, request: OpenRequest, given: Any) -> Any:
    """The input as JSON, until it is JSON; what comes of it is shown before it is allowed."""
    text = msgspec.json.encode(request.input if given is None else given).decode()
    while True:
        line = await painter.read_line("The input, as JSON", text)
        if line is None or not line.strip():
            return given
        try:
            changed = msgspec.json.decode(line)
        except msgspec.DecodeError as problem:
            painter.note([Text(f"This is not JSON: {plain(str(problem))}", "yellow")])
            text = line
            continue
        call = Call(request.tool_use_id, request.tool_name, Voice(), changed)
        head = Text("Instead it would run with", "dim")
        painter.note([head, *(Text.assemble("  ", part) for part in input_of(call, whole=True))])
        return None if changed == request.input else changed


def _arrow(words: str) -> Text:
    return Text.assemble(("→ ", "magenta"), plain(safe(words)))
