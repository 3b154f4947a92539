"""How a person is asked: the AskUserQuestion tool, or a tool named request_input on any server."""

from __future__ import annotations

from typing import Any

from turnwire.core.events import Question, QuestionOption

__all__ = ["ONLY", "asks_a_person", "questions_of"]

ONLY = "answer"  # the id of a question that is the only one of its tool


def asks_a_person(tool_name: str) -> bool:
    """Whether a call of this tool is a question to a person rather than work."""
    return tool_name in ("AskUserQuestion", "request_input") or (
        tool_name.startswith("mcp__") and tool_name.endswith("__request_input")
    )


def questions_of(tool_input: Any) -> list[Question]:
    """The questions in the tool's input. AskUserQuestion wants answers keyed by question text."""
    if not isinstance(tool_input, dict):
        return []
    several = tool_input.get("questions")
    if isinstance(several, list):
        return [_question(item) for item in several if isinstance(item, dict)]
    return [_question(tool_input, key=ONLY)]


def _question(item: dict[str, Any], key: str | None = None) -> Question:
    text = _text(item.get("question")) or _text(item.get("prompt")) or ""
    given = item.get("options")
    options = [_option(o) for o in given] if isinstance(given, list) else []
    return Question(
        id=key or text,
        question=text,
        options=options,
        multi=item.get("multiSelect") is True,
        # AskUserQuestion has no such field: whoever is asked by it may always use own words. So may
        # who would have nothing to choose from.
        free_text=item.get("free_text") is not False or not options,
        header=_text(item.get("header")),
    )


def _option(item: Any) -> QuestionOption:
    if isinstance(item, dict):
        return QuestionOption(_text(item.get("label")) or "", _text(item.get("description")))
    return QuestionOption(str(item))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
