"""Finding words in any script: which text of an entry is searched, and how it is indexed.

Chinese, Japanese and Korean have no spaces that an index could go by. A run of such characters is
indexed as every two neighbours, and its last character alone: 会议室 as 会议, 议室 and 室. A word of
two or more characters is then a phrase of pairs, and a single character the beginning of some pair.
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
RESULT_LIMIT = 16 * 1024  # of a tool's result: long ones are mostly files

CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{CJK}]+)")


def text_of(entry: Message) -> str:
    """The words of an entry that a person may look for: said or asked by a person, the agent or a tool."""
    if entry.role == "system":
        return "\n".join(_asked_later(entry))[:TEXT_LIMIT]
    if len(entry.parts) == 1 and isinstance(part := entry.parts[0], TextPart):  # mostly
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
    """The questions of a call that was announced as a plain tool call."""
    data = entry.meta.get("data")
    if entry.meta.get("messageType") == "input_request" and isinstance(data, dict):
        yield from _asked(data)


# --- the index ----------------------------------------------------------------------------------

# Unicode calls text with no more combining marks in a row than this stream-safe (UAX #15, section 13).
_MOST_MARKS = 30
# Long runs in which combining marks may be: scripts that have none, and ASCII, end a run.
_MAY_BE_MARKS = re.compile(
    f"[^\x00-\u02ff\u0370-\u0482\u048a-\u0590\u3400-\u9fff\uac00-\ud7a3]{{{_MOST_MARKS + 1},}}"
)
# NFKC makes up to 18 characters of one. A text that grows by more than a quarter is cut: the index
# of ordinary text stays as it is, and no text costs more than others of its length.
_NORMALIZED_LIMIT = TEXT_LIMIT + TEXT_LIMIT // 4
_SLICE = 4096  # characters that are normalized at once
_SLICE_MORE = (
    1024  # how far the end of a slice may move, so that it parts nothing that belongs together
)
_STANDS_ALONE = re.compile("[\x00-\x7f\u4e00-\u9fff]")  # combines with nothing before it


def indexed(text: str) -> str:
    """The text with spaces between all words, for a tokenizer that goes by them."""
    if text.isascii():
        return text
    pieces = _RUNS.split(normalized(text))  # every second one is a run
    pieces[1::2] = [
        f" {pairs(run)} {run[-1]} " if len(run) > 1 else f" {run} " for run in pieces[1::2]
    ]
    return "".join(pieces)


def normalized(text: str) -> str:
    """The text in NFKC, in time that grows with its length alone.

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
    """Whether it combines with the character before it, once it is in NFKC."""
    decomposed = unicodedata.normalize("NFKD", character)
    return unicodedata.combining(decomposed[0]) != 0


def pairs(run: str) -> str:
    """Every two neighbours of a run of Chinese, Japanese or Korean, with spaces between them."""
    return " ".join(map(add, run, run[1:]))
