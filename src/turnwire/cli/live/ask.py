"""Asks a person at the terminal until an answer or a decision is valid."""

from __future__ import annotations

from typing import Any, Literal, Protocol

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
from turnwire.cli.terminal.visible import safe
from turnwire.cli.terminal.words import plain
from turnwire.core.events import Question
from turnwire.core.status import OpenRequest

__all__ = ["TOO_LATE", "Asker", "Decision", "ask_permission", "ask_question", "read_decision"]

# Refusals that mean that the request has ended. After any other refusal it is still open.
TOO_LATE = {
    "DUPLICATE_INPUT_RESPONSE": "Too late: another person has answered already.",
    "INPUT_TIMEOUT": "Too late: the deadline for the answer has passed.",
    "CONVERSATION_INTERRUPTED": "Too late: the turn was stopped.",
}


class Asker(Protocol):
    """A terminal at which a person can be asked."""

    is_guest: bool  # leaving the request ends the turn, so the hint has to say it

    def tell(self, lines: list[Text]) -> None:
        """Shows the request and its answer, unless the story shows them."""

    def note(self, lines: list[Text]) -> None:
        """Shows a remark on an answer."""

    async def read_line(self, hint: str, text: str = "") -> str | None:
        """Reads a line. Returns None if the person declines to answer."""

    def forget_keys(self) -> None:
        """Discards the keys that were typed before the request was shown."""


class Decision(Struct, frozen=True):
    """A person's decision on a permission."""

    decision: Literal["allow", "deny"]
    reason: str | None = None
    updated_input: Any = None
    remember: list[Any] = []


async def ask_question(asker: Asker, request: OpenRequest) -> Any:
    """Asks every question of a request in order. Returns None if the person declines to answer."""
    questions = request.questions or [Question("answer", "")]
    asker.forget_keys()
    answers: list[Answer] = []
    for number, question in enumerate(questions, 1):
        asker.tell(question_lines([question], request.input if not question.question else None))
        hint = hint_of(question)
        if len(questions) > 1:
            hint = f"{number} of {len(questions)}: {plain(safe(question.question))}  {hint}"
        if asker.is_guest:
            hint += "; Ctrl-D leaves it open"
        answer = await _answer(asker, question, hint, request.required)
        if answer is None:
            return None
        answers.append(answer)
        asker.tell([_arrow(answered_words(answer))])
    return answer_of(questions, answers)


async def _answer(asker: Asker, question: Question, hint: str, required: bool) -> Answer | None:
    while True:
        line = await asker.read_line(hint)
        if line is None:
            return None
        try:
            answer = read_answer(question, line)
        except NotUnderstood as problem:
            asker.note([Text(str(problem), "yellow")])
            continue
        if answer or not required:
            return answer
        asker.note([Text("An answer is required. Ctrl-D leaves the question open.", "yellow")])


async def ask_permission(asker: Asker, request: OpenRequest) -> Decision | None:
    """Asks for a permission. Returns None if the person declines to decide."""
    asker.tell(permission_lines(request))
    asker.forget_keys()
    given: Any = None  # the edited input
    while True:
        choices = _choices(request, given)
        line = await asker.read_line(f"{choices}  Ctrl-D: stop" if asker.is_guest else choices)
        if line is None:
            return None
        if line.strip().casefold() in ("e", "edit") and not request.decision_only:
            given = await _edit(asker, request, given)
            continue
        match read_decision(request, line):
            case Decision(decision="deny", reason=reason):
                return await _deny(asker, request, reason or "")
            case Decision(remember=[]):
                asker.tell([_arrow("allowed" if given is None else "allowed, as changed")])
                return Decision("allow", updated_input=given)
            case Decision() as always if given is None:
                asker.tell([_arrow(f"always allowed: {rules_of(always.remember)}")])
                return always
            case _:
                asker.note([Text("Please answer with one of the letters.", "yellow")])


def read_decision(request: OpenRequest, text: str) -> Decision | None:
    """Reads a decision: `y`, `n`, `n REASON`, `a` or `a2`; the words yes, no, always also work.

    Returns None for other text, and for `a` if the agent suggests no such rule.
    """
    word, _, rest = text.strip().partition(" ")
    always = _always(request)
    match word.casefold(), rest.strip():
        case "n" | "no", reason:
            return Decision("deny", reason or None)
        case "y" | "yes", "":
            return Decision("allow")
        case "a" | "always", "" if always:
            return Decision("allow", remember=always[0])
        case _:
            number = text.strip().casefold().removeprefix("always").removeprefix("a").strip()
            is_one = word[:1].casefold() == "a" and number.isdecimal()
            if is_one and 1 <= int(number) <= len(always):
                return Decision("allow", remember=always[int(number) - 1])
            return None


def _always(request: OpenRequest) -> list[list[Any]]:
    """Returns the rules that "always" can mean: all together, or one of them.

    An agent that takes only a decision takes one rule with it.
    """
    if request.decision_only:
        return [[rule] for rule in request.suggestions]
    return [request.suggestions] if request.suggestions else []


async def _deny(asker: Asker, request: OpenRequest, words: str) -> Decision:
    """Denies with the given reason, or asks for one if the agent can take it."""
    if not words and not request.decision_only:
        words = await asker.read_line("Why? The reason goes to the agent. Enter: no reason") or ""
    words = words.strip()
    asker.tell([_arrow(f"denied: {words}" if words else "denied")])
    return Decision("deny", words or None)


def _choices(request: OpenRequest, given: Any) -> str:
    words = ["y: allow", "n: deny"]
    for number, rules in enumerate(_always(request) if given is None else [], 1):
        words.append(f"a{number if number > 1 else ''}: always ({rules_of(rules)})")
    return "  ".join(words if request.decision_only else [*words, "e: edit"])


async def _edit(asker: Asker, request: OpenRequest, given: Any) -> Any:
    """Lets the person edit the input until it is valid JSON, and shows it before it is allowed."""
    text = msgspec.json.encode(request.input if given is None else given).decode()
    while True:
        line = await asker.read_line("The input, as JSON", text)
        if line is None or not line.strip():
            return given
        try:
            changed = msgspec.json.decode(line)
        except msgspec.DecodeError as problem:
            asker.note([Text(f"This is not JSON: {plain(str(problem))}", "yellow")])
            text = line
            continue
        call = Call(request.tool_use_id, request.tool_name, Voice(), changed)
        head = Text("With your change it would run with", "dim")
        asker.note([head, *(Text.assemble("  ", part) for part in input_of(call, whole=True))])
        return None if changed == request.input else changed


def _arrow(words: str) -> Text:
    return Text.assemble(("→ ", "magenta"), plain(safe(words)))
