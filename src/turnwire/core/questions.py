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
    options = item.get("options")
    return Question(
        id=key or text,
        question=text,
        options=[_option(o) for o in options] if isinstance(options, list) else [],
        multi=item.get("multiSelect") is True,
        header=_text(item.get("header")),
    )


def _option(item: Any) -> QuestionOption:
    if isinstance(item, dict):
        return QuestionOption(_text(item.get("label")) or "", _text(item.get("description")))
    return QuestionOption(str(item))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
