"""A person's message as input of a turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnwire.core.answers import as_text, in_words
from turnwire.core.content import Content, FileContent, ImageContent, TextContent

__all__ = ["answer_prompt", "input_of"]


def input_of(content: Sequence[Content]) -> list[dict[str, Any]]:
    """Returns the input of a turn."""
    return [_part(each) for each in content]


def _part(item: Content) -> dict[str, Any]:
    match item:
        case TextContent(text=text):
            return _text(text)
        case ImageContent(data=str(data), mime_type=mime):
            return {"type": "image", "url": f"data:{mime or 'image/png'};base64,{data}"}
        case ImageContent(url=str(url)):
            return {"type": "image", "url": url}
        case FileContent(path=path):
            return _text(f"The file {path}")
        case _:  # a picture that is not stored any more, or an unknown kind of content
            named = msgspec.json.encode(item).decode()
            return _text(f"(content that cannot be shown: {named})")


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "text_elements": []}


def answer_prompt(answers: Sequence[tuple[list[Any], Any]]) -> str:
    """Returns late answers as a prompt that quotes the questions, as far as they are known.

    Each answer comes with its questions, as Codex has asked them.
    """
    if not any(questions for questions, _ in answers):
        return in_words([answer for _, answer in answers])
    lines = ["You had asked me something before you were interrupted."]
    for questions, answer in answers:
        for question in questions:
            lines += [f"> {question.get('question', '')}", _one(question, answer)]
        if not questions:
            lines.append(as_text(answer))
    return "\n".join(lines)


def _one(question: dict[str, Any], answer: Any) -> str:
    if not isinstance(answer, dict):
        return as_text(answer)
    said = answer.get(question.get("question", ""))
    return "(no answer)" if said is None else as_text(said)
