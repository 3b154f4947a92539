"""Reads the questions in the input of a tool call."""

from __future__ import annotations

from typing import Any

from turnwire.core.events import Question, QuestionOption

__all__ = ["ONLY", "client_tool_question", "questions_of"]

ONLY = "answer"  # the id of a question that is the only one of its call


def client_tool_question(name: str) -> dict[str, Any]:
    """Returns the question to the front end to run one of its tools, as the input of a call."""
    said = f"Run {name} in the front end, and answer with its result."
    return {"question": said, "required": False, "metadata": {"client_tool": True}}


def questions_of(tool_input: Any) -> list[Question]:
    """Returns the questions in a tool's input. The id of one of several questions is its text."""
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
        # Not every agent's tool has this field: free text is then allowed. It is also allowed if
        # the question has no options.
        free_text=item.get("free_text") is not False or not options,
        header=_text(item.get("header")),
        required=key is None and item.get("required") is True,
    )


def _option(item: Any) -> QuestionOption:
    if isinstance(item, dict):
        return QuestionOption(_text(item.get("label")) or "", _text(item.get("description")))
    return QuestionOption(str(item))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
