"""Formats questions and permissions as text, and parses answers."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec
from rich.cells import cell_len
from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, input_of, words_of
from turnwire.cli.live.tool_names import name_of, title_of
from turnwire.cli.terminal.visible import safe, visible
from turnwire.cli.terminal.words import plain
from turnwire.core.events import Question
from turnwire.core.status import OpenRequest
from turnwire.dialects.v2.payloads import PermissionAsked, RequestResolved

__all__ = [
    "Answer",
    "NotUnderstood",
    "answer_of",
    "example_of",
    "lines_of",
    "permission_lines",
    "question_lines",
    "read_answer",
    "resolved_line",
    "rules_of",
]

Answer: TypeAlias = str | list[str]

# The scope of a rule, by its destination.
_WHERE = {
    "session": "in this conversation",
    "localSettings": "in this directory",
    "projectSettings": "in this directory, for all who work in it",
    "userSettings": "in all conversations on this machine",
}


class NotUnderstood(ValueError):
    """An answer that matches no option. The message says what is valid."""


# --- questions ----------------------------------------------------------------------------------


def question_lines(questions: list[Question], given: Any = None) -> list[Text]:
    """Returns the questions with their numbered options."""
    lines: list[Text] = []
    for question in questions:
        words = safe(question.question).strip() or "The agent asks a question."
        head = Text.assemble(("? ", "bold magenta"), (words, "bold"))
        if question.header:
            head.append(f"  ({plain(safe(question.header))})", "dim")
        lines += [head, *_option_lines(question)]
    if not lines:
        words = "The agent asks a question."
        lines = [Text.assemble(("? ", "bold magenta"), (words, "bold"))]
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
    """Returns how to answer a question."""
    if not question.options:
        return "Your answer"
    if question.multi:
        own = ", or your own words" if question.free_text else ""
        return f"Numbers, separated by commas{own}"
    return "A number, or your own words" if question.free_text else "A number"


def example_of(questions: list[Question]) -> tuple[str, str]:
    """Returns an answer to type, and what else it may be; empty if it may be any text."""
    if len(questions) > 1:
        given = {each.id: example_of([each])[0] for each in questions}
        return msgspec.json.encode(given).decode(), ""
    if not questions or not questions[0].options:
        return "your answer", ""
    hint = hint_of(questions[0])
    return "1", f"{hint[0].lower()}{hint[1:]}"


def read_answer(question: Question, text: str) -> Answer:
    """Reads an answer: options by number or name, or free text. Raises NotUnderstood."""
    text = text.strip()
    if question.multi and question.options:
        only = _option(question, text)  # the name of an option may contain a comma
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
    raise NotUnderstood(f"There is no option {text!r}: choose 1 to {len(question.options)}.")


def _option(question: Question, text: str) -> str | None:
    for option in question.options:
        if option.label.casefold() == text.casefold():
            return option.label
    if text.isdecimal() and 1 <= int(text) <= len(question.options):
        return question.options[int(text) - 1].label
    return None


def answer_of(questions: list[Question], answers: list[Answer]) -> Any:
    """Returns the answers to send: a single text as it is, otherwise a dict by question id."""
    if len(answers) == 1 and isinstance(answers[0], str):
        return answers[0]
    return {q.id: answer for q, answer in zip(questions, answers, strict=True)}


def read_given(questions: list[Question], text: str) -> Any:
    """Reads an answer from an argument: a JSON object for several questions. Raises NotUnderstood."""
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
    """Returns a JSON list of texts. Returns None if the text is not one."""
    try:
        return msgspec.json.decode(text, type=list[str])
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def _read_one(question: Question, given: Answer) -> Answer:
    """Reads the answer to one question. The items of a list are not split at commas."""
    if isinstance(given, str):
        return read_answer(question, given)
    items = [item.strip() for item in given if item.strip()]
    if question.multi:
        return [_choice(question, item) if question.options else item for item in items]
    if len(items) > 1:
        raise NotUnderstood(f"Give one answer, not {len(items)}: {question.question}")
    return read_answer(question, items[0] if items else "")


# --- permissions --------------------------------------------------------------------------------


def permission_lines(asked: PermissionAsked | OpenRequest) -> list[Text]:
    """Returns the exact call that would run, and why it needs permission."""
    told = title_of(asked.tool_name, asked.title)
    title = plain(safe(told))
    lines = [Text.assemble(("? ", "bold magenta"), (title, "bold"))]
    if asked.description:
        lines.append(Text(f"  {plain(safe(asked.description))}"))
    why = [asked.reason, asked.blocked_path and f"It touches {asked.blocked_path}"]
    lines += [Text(f"  {plain(safe(words))}", "dim") for words in why if words]
    call = Call(asked.tool_use_id, asked.tool_name, Voice(), asked.input)
    name = plain(visible(name_of(asked.tool_name)))
    if name not in title:
        lines.append(Text.assemble("  ", (name, "bold")))
    shown = input_of(call, whole=True, told=(told, asked.description))
    lines += [Text.assemble("    ", line) for line in shown]
    return lines


def lines_of(request: OpenRequest) -> list[Text]:
    """Returns an open question or permission as lines."""
    if request.kind == "question":
        return question_lines(request.questions, request.input)
    return permission_lines(request)


def rules_of(suggestions: list[Any]) -> str:
    """Returns the rules that the agent suggests, in few words, with the scope of each."""
    rules: dict[str, list[str]] = {}  # by scope
    for suggestion in suggestions:
        place = suggestion.get("destination") if isinstance(suggestion, dict) else None
        here = rules.setdefault(_WHERE.get(str(place), ""), [])
        match suggestion:
            case {"rules": list(several)}:
                here += [_rule(rule) for rule in several]
            case {"type": "setMode", "mode": str(mode)}:
                here.append(f"mode {mode}")
            case {"optionId": str(), "name": str(name)}:  # the agent's own words
                here.append(name)
            case _:
                here.append(msgspec.json.encode(suggestion).decode())
    words = [" ".join([", ".join(each), where]).rstrip() for where, each in rules.items()]
    return plain(visible("; ".join(words)))


def _holds_longer(rules: list[Any]) -> bool:
    """Returns whether one of the rules is kept after the end of its session."""
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


# --- resolutions ----------------------------------------------------------------------------------


def resolved_line(ended: RequestResolved) -> Text:
    """Returns how a request ended."""
    if ended.outcome != "answered":
        word = "no answer before the deadline" if ended.outcome == "expired" else "cancelled"
        return Text.assemble(("→ ", "magenta"), (word, "dim"))
    if ended.decision is None:
        words = answered_words(ended.answer)
    elif ended.decision == "allow":
        words = "allowed" + (" with a changed input" if ended.updated_input is not None else "")
        if ended.remembered:
            words += " for good" if _holds_longer(ended.remembered) else " in this conversation"
        if ended.narrowed:
            words += f" (only the owner may keep rules for longer: {rules_of(ended.narrowed)})"
    else:
        words = "denied" + (f": {ended.reason}" if ended.reason else "")
    return Text.assemble(("→ ", "magenta"), plain(safe(words)))


def answered_words(answer: Any) -> str:
    """Returns an answer as text."""
    match answer:
        case dict():
            return ", ".join(answered_words(value) for value in answer.values())
        case list():
            return ", ".join(answered_words(item) for item in answer)
        case str():
            return answer
        case _:
            return words_of(answer)
