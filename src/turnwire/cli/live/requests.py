"""Questions and permissions in words, and what a person answers to them."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec
from rich.cells import cell_len
from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, input_of, words_of
from turnwire.cli.terminal.visible import safe, visible
from turnwire.cli.terminal.words import plain
from turnwire.core.events import Question
from turnwire.core.status import OpenRequest
from turnwire.dialects.v2.payloads import PermissionAsked, RequestResolved

__all__ = [
    "Answer",
    "NotUnderstood",
    "answer_of",
    "lines_of",
    "permission_lines",
    "question_lines",
    "read_answer",
    "resolved_line",
    "rules_of",
]

Answer: TypeAlias = str | list[str]

# By a rule's destination: where it holds.
_WHERE = {
    "session": "for this session",
    "localSettings": "in this directory",
    "projectSettings": "in this directory, for all who work in it",
    "userSettings": "in all conversations on this machine",
}


class NotUnderstood(ValueError):
    """An answer that fits no option; the message says what would."""


# --- questions ----------------------------------------------------------------------------------


def question_lines(questions: list[Question], given: Any = None) -> list[Text]:
    """Each question with its options, numbered."""
    lines: list[Text] = []
    for question in questions:
        words = safe(question.question).strip() or "The agent asks something."
        head = Text.assemble(("? ", "bold magenta"), (words, "bold"))
        if question.header:
            head.append(f"  ({plain(safe(question.header))})", "dim")
        lines += [head, *_option_lines(question)]
    if not lines:
        lines = [Text.assemble(("? ", "bold magenta"), ("The agent asks something.", "bold"))]
        lines += [Text(f"  {visible(words_of(given))}")] if given is not None else []
    return lines


def _option_lines(question: Question) -> list[Text]:
    labels = [plain(safe(option.label)) for option in question.options]
    width = min(max(map(cell_len, labels), default=0), 24)
    lines = []
    for number, (label, option) in enumerate(zip(labels, question.options, strict=True), 1):
        line = Text.assemble((f"  {number:>2}  ", "magenta"), label)
        if option.description:
            gap = " " * max(width - cell_len(label), 0)
            line.append(f"{gap}  {plain(safe(option.description))}", "dim")
        lines.append(line)
    return lines


def hint_of(question: Question) -> str:
    """How to answer."""
    if not question.options:
        return "Your answer"
    if question.multi:
        own = ", or your own words" if question.free_text else ""
        return f"Numbers, separated by commas{own}"
    return "A number, or your own words" if question.free_text else "A number"


def read_answer(question: Question, text: str) -> Answer:
    """What somebody typed: options by number or by name, or words of their own."""
    text = text.strip()
    if question.multi and question.options:
        only = _option(question, text)  # which may have a comma in its name
        if only is not None:
            return [only]
        items = [item.strip() for item in re.split("[,，、]", text) if item.strip()]
        if not question.free_text or any(_option(question, item) for item in items):
            return [_choice(question, item) for item in items]
        return [text] if text else []
    if question.options and text:
        return _choice(question, text)
    return text


def _choice(question: Question, text: str) -> str:
    known = _option(question, text)
    if known is not None:
        return known
    if question.free_text and not text.isdecimal():
        return text
    raise NotUnderstood(f"There is no option {text!r}: take 1 to {len(question.options)}.")


def _option(question: Question, text: str) -> str | None:
    for option in question.options:
        if option.label.casefold() == text.casefold():
            return option.label
    if text.isdecimal() and 1 <= int(text) <= len(question.options):
        return question.options[int(text) - 1].label
    return None


def answer_of(questions: list[Question], answers: list[Answer]) -> Any:
    """The answers as they are sent: one in words as it is, others under their questions' ids."""
    if len(answers) == 1 and isinstance(answers[0], str):
        return answers[0]
    return {q.id: answer for q, answer in zip(questions, answers, strict=True)}


def read_given(questions: list[Question], text: str) -> Any:
    """An answer given as an argument: for several questions a JSON object."""
    if len(questions) <= 1:
        question = questions[0] if questions else Question("answer", "")
        several = _list_in(text) if question.multi else None
        return answer_of([question], [_read_one(question, text if several is None else several)])
    try:
        given = msgspec.json.decode(text, type=dict[str, str | list[str]])
    except (msgspec.DecodeError, msgspec.ValidationError):
        given = None
    names = [question.id for question in questions]
    if given is None or given.keys() != set(names):
        example = msgspec.json.encode(dict.fromkeys(names, "...")).decode()
        raise NotUnderstood(f"There are {len(names)} questions; answer them as JSON: {example}")
    return {question.id: _read_one(question, given[question.id]) for question in questions}


def _list_in(text: str) -> list[str] | None:
    """A JSON list of texts; none: it is something else."""
    try:
        return msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def _read_one(question: Question, given: Answer) -> Answer:
    """What a list divides is divided already."""
    if isinstance(given, str):
        return read_answer(question, given)
    items = [item.strip() for item in given if item.strip()]
    if question.multi:
        return [_choice(question, item) if question.options else item for item in items]
    if len(items) > 1:
        raise NotUnderstood(f"One answer is wanted, not {len(items)}: {question.question}")
    return read_answer(question, items[0] if items else "")


# --- permissions --------------------------------------------------------------------------------


def permission_lines(asked: PermissionAsked | OpenRequest) -> list[Text]:
    """What would run, to the last letter, and why the agent has to ask."""
    title = plain(safe(asked.title or "")) or "The agent asks for permission"
    lines = [Text.assemble(("? ", "bold magenta"), (title, "bold"))]
    if asked.description:
        lines.append(Text(f"  {plain(safe(asked.description))}"))
    why = [asked.reason, asked.blocked_path and f"It touches {asked.blocked_path}"]
    lines += [Text(f"  {plain(safe(words))}", "dim") for words in why if words]
    call = Call(asked.tool_use_id, asked.tool_name, Voice(), asked.input)
    lines.append(
        Text.assemble("  ", (plain(visible(asked.tool_name)), "bold"), (" would run with", "dim"))
    )
    lines += [Text.assemble("    ", line) for line in input_of(call, whole=True)]
    return lines


def lines_of(request: OpenRequest) -> list[Text]:
    """A question or a permission that is open."""
    if request.kind == "question":
        return question_lines(request.questions, request.input)
    return permission_lines(request)


def rules_of(suggestions: list[Any]) -> str:
    """The rules that the agent offers to remember, in few words, and where each of them holds."""
    rules: dict[str, list[str]] = {}  # by where they hold
    for suggestion in suggestions:
        place = suggestion.get("destination") if isinstance(suggestion, dict) else None
        here = rules.setdefault(_WHERE.get(str(place), ""), [])
        match suggestion:
            case {"rules": list(several)}:
                here += [_rule(rule) for rule in several]
            case {"type": "setMode", "mode": str(mode)}:
                here.append(f"mode {mode}")
            case _:
                here.append(msgspec.json.encode(suggestion).decode())
    words = [" ".join([", ".join(each), where]).rstrip() for where, each in rules.items()]
    return plain(visible("; ".join(words)))


def _holds_longer(rules: list[Any]) -> bool:
    """Whether one of the rules outlives the session in which it was remembered."""
    places = [each.get("destination") for each in rules if isinstance(each, dict)]
    return any(place != "session" for place in places)


def _rule(rule: Any) -> str:
    match rule:
        case {"toolName": str(tool), "ruleContent": str(content)}:
            return f"{tool}({content})"
        case {"toolName": str(tool)}:
            return tool
        case _:
            return msgspec.json.encode(rule).decode()


# --- afterwards -----------------------------------------------------------------------------------


def resolved_line(ended: RequestResolved) -> Text:
    """How a request ended, and by whom."""
    if ended.outcome != "answered":
        word = "nobody answered in time" if ended.outcome == "expired" else "cancelled"
        return Text.assemble(("→ ", "magenta"), (word, "dim"))
    if ended.decision is None:
        words = answered_words(ended.answer)
    elif ended.decision == "allow":
        words = "allowed" + (" with a changed input" if ended.updated_input is not None else "")
        if ended.remembered:
            words += " for good" if _holds_longer(ended.remembered) else " for this session"
        if ended.narrowed:
            words += f" (only the owner may for longer: {rules_of(ended.narrowed)})"
    else:
        words = "denied" + (f": {ended.reason}" if ended.reason else "")
    return Text.assemble(("→ ", "magenta"), plain(safe(words)))


def answered_words(answer: Any) -> str:
    """An answer in words."""
    match answer:
        case dict():
            return ", ".join(answered_words(value) for value in answer.values())
        case list():
            return ", ".join(answered_words(item) for item in answer)
        case str():
            return answer
        case _:
            return words_of(answer)
