"""Text extraction and indexing for search, in any script.

Chinese, Japanese and Korean have no spaces between words. A run of such characters is indexed as
every pair of neighbours, plus its last character: 会议室 as 会议, 议室 and 室. A word of two or more
characters is then searched as a phrase of pairs. A single character is searched as the beginning of
a pair.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from operator import add
from typing import Any

from turnwire.core.message import Message, MessagePart, TextPart, ToolCallPart, ToolResultPart
from turnwire.core.questions import questions_of

__all__ = ["CJK", "indexed", "normalized", "pairs", "text_of"]

TEXT_LIMIT = 64 * 1024  # characters of an entry that are indexed
# Characters of a tool result that are indexed: long results are mostly files.
RESULT_LIMIT = 16 * 1024

CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{CJK}]+)")


def text_of(entry: Message) -> str:
    """Returns the searchable text of an entry: said or asked by a person, the agent or a tool."""
    if entry.role == "system":
        return "\n".join(_asked_later(entry))[:TEXT_LIMIT]
    if len(entry.parts) == 1 and isinstance(part := entry.parts[0], TextPart):  # the usual case
        return part.payload.text[:TEXT_LIMIT]
    return "\n".join(_texts(entry.parts))[:TEXT_LIMIT]


def _texts(parts: Iterable[MessagePart]) -> Iterable[str]:
    for part in parts:
        match part:
            case TextPart(payload):
                yield payload.text
            case ToolResultPart(payload):
                match payload.content:
                    case str(text):
                        yield text[:RESULT_LIMIT]
                    case list(inner):
                        yield "\n".join(_texts(inner))[:RESULT_LIMIT]
                    case dict(fields):
                        said = [value for value in fields.values() if isinstance(value, str)]
                        yield "\n".join(said)[:RESULT_LIMIT]
            case ToolCallPart(payload) if payload.is_question:
                yield "\n".join(_asked(payload.arguments))
            case _:
                pass


def _asked(arguments: dict[str, Any]) -> Iterable[str]:
    for question in questions_of(arguments):
        yield question.question
        for option in question.options:
            yield f"{option.label} {option.description or ''}"


def _asked_later(entry: Message) -> Iterable[str]:
    """Yields the texts of questions whose call was first announced as a plain tool call."""
    data = entry.meta.get("data")
    if entry.meta.get("messageType") == "input_request" and isinstance(data, dict):
        yield from _asked(data)


# --- the index ----------------------------------------------------------------------------------

# Unicode calls text stream-safe if no more combining marks than this follow each other (UAX #15,
# section 13).
_MOST_MARKS = 30
# Long runs that may contain combining marks. ASCII, and scripts without marks, end a run.
_MAY_BE_MARKS = re.compile(
    f"[^\x00-\u02ff\u0370-\u0482\u048a-\u0590\u3400-\u9fff\uac00-\ud7a3]{{{_MOST_MARKS + 1},}}"
)
# NFKC may expand one character to 18. A text that grows by more than a quarter is cut. The index of
# ordinary text is not affected, and no text costs more than others of its length.
_NORMALIZED_LIMIT = TEXT_LIMIT + TEXT_LIMIT // 4
_SLICE = 4096  # characters that are normalized at once
# Characters by which the end of a slice may move, to keep combining characters together.
_SLICE_MORE = 1024
# Matches a character that never combines with the one before it.
_STANDS_ALONE = re.compile("[\x00-\x7f\u4e00-\u9fff]")


def indexed(text: str) -> str:
    """Returns the text with spaces between all words, for a tokenizer that splits at spaces."""
    if text.isascii():
        return text
    pieces = _RUNS.split(normalized(text))  # every second piece is a run
    pieces[1::2] = [
        f" {pairs(run)} {run[-1]} " if len(run) > 1 else f" {run} " for run in pieces[1::2]
    ]
    return "".join(pieces)


def normalized(text: str) -> str:
    """Returns the text in NFKC, in time linear in its length.

    Python's own normalization takes quadratic time for a long run of combining marks, so a run is
    cut after 30 of them.
    """
    if len(text) <= _SLICE:
        return unicodedata.normalize("NFKC", _MAY_BE_MARKS.sub(_with_fewer_marks, text))
    out: list[str] = []
    left = _NORMALIZED_LIMIT
    for piece in _slices(_MAY_BE_MARKS.sub(_with_fewer_marks, text)):
        out.append(unicodedata.normalize("NFKC", piece)[:left])
        left -= len(out[-1])
        if not left:
            break
    return "".join(out)


def _slices(text: str) -> Iterable[str]:
    start = 0
    while start < len(text):
        end = start + _SLICE
        alone = _STANDS_ALONE.search(text, end, end + _SLICE_MORE)
        end = alone.start() if alone else end + _SLICE_MORE
        yield text[start:end]
        start = end


def _with_fewer_marks(run: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in run[0]:
        marks = marks + 1 if _is_mark(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def _is_mark(character: str) -> bool:
    """Returns whether the character combines with the one before it after normalization to NFKC."""
    decomposed = unicodedata.normalize("NFKD", character)
    return unicodedata.combining(decomposed[0]) != 0


def pairs(run: str) -> str:
    """Returns all pairs of neighbours in a run of Chinese, Japanese or Korean, joined by spaces."""
    return " ".join(map(add, run, run[1:]))
