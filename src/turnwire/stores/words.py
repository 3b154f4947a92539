"""Finding words in any script: what is indexed, how it is asked for, and how a hit is shown.

Chinese, Japanese and Korean have no spaces that an index could go by. A run of such characters is
indexed as every two neighbours, and its last character alone: 会议室 as 会议, 议室 and 室. A word of
two or more characters is then a phrase of pairs, and a single character the beginning of some pair.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from turnwire.core.message import Message, MessagePart, TextPart, ToolCallPart, ToolResultPart
from turnwire.core.questions import asks_a_person, questions_of

__all__ = ["indexed", "match_expression", "snippet", "text_of"]

TEXT_LIMIT = 64 * 1024  # characters of an entry that are indexed
RESULT_LIMIT = 16 * 1024  # of a tool's result: long ones are mostly files
_SNIPPET_LENGTH = 160
_SNIPPET_BEFORE = 40

_CJK = (
    "\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUN = re.compile(f"[{_CJK}]+")
_RUN_OR_REST = f"([{_CJK}]+)|([^{_CJK}]+)"  # compiled by the first who searches: it takes long


def text_of(entry: Message) -> str:
    """The words of an entry that a person may look for: said or asked by a person, the agent or a tool."""
    if entry.role == "system":
        return ""
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
            case ToolCallPart(payload) if asks_a_person(payload.tool_name):
                yield "\n".join(_asked(payload.arguments))
            case _:
                pass


def _asked(arguments: dict[str, Any]) -> Iterable[str]:
    for question in questions_of(arguments):
        yield question.question
        for option in question.options:
            yield f"{option.label} {option.description or ''}"


# --- the index ----------------------------------------------------------------------------------


def indexed(text: str) -> str:
    """The text with spaces between all words, for a tokenizer that goes by them."""
    if text.isascii():
        return text
    return _RUN.sub(_pairs_apart, unicodedata.normalize("NFKC", text))


def _pairs_apart(run: re.Match[str]) -> str:
    return f" {_pairs(run[0])} {run[0][-1]} "


def _pairs(run: str) -> str:
    return " ".join(map(str.__add__, run, run[1:]))


# --- asking -------------------------------------------------------------------------------------


def match_expression(words: str) -> str | None:
    """An FTS5 expression for entries that have all these words; none if there is nothing to find.

    A word also finds longer ones that begin with it. Whatever a person types is only words: no
    character has a meaning of its own.
    """
    terms = []
    for run, rest in _terms(words):
        if not run:
            terms.append(f'"{rest}"*')
        elif len(run) == 1:
            terms.append(f'"{run}"*')
        else:
            terms.append(f'"{_pairs(run)}"')
    return " AND ".join(terms) or None


def _terms(words: str) -> Iterable[tuple[str, str]]:
    """Each word as a run of characters without spaces, or as anything else with a letter in it."""
    plain = unicodedata.normalize("NFKC", words).replace('"', " ").replace("\0", " ")
    for word in plain.split():
        for run, rest in re.findall(_RUN_OR_REST, word):
            if run or any(map(str.isalnum, rest)):
                yield run, rest


# --- showing ------------------------------------------------------------------------------------


def snippet(text: str, words: str) -> str:
    """The place where the words are, with \\x02 before and \\x03 behind each."""
    text = text.replace("\x02", " ").replace("\x03", " ")
    patterns = [
        re.escape(_fold(run)) if run else _word_pattern(_fold(rest)) for run, rest in _terms(words)
    ]
    found = re.compile("|".join(patterns)) if patterns else None
    folded = _fold(text)
    first = found.search(folded) if found else None
    start = max(0, first.start() - _SNIPPET_BEFORE) if first else 0
    end = min(len(text), start + _SNIPPET_LENGTH)
    out = ["…"] if start else []
    at = start
    for hit in found.finditer(folded, start, end) if found else ():
        out += [text[at : hit.start()], "\x02", text[hit.start() : hit.end()], "\x03"]
        at = hit.end()
    out.append(text[at:end])
    if end < len(text):
        out.append("…")
    return re.sub(r"[^\S\x02\x03]+", " ", "".join(out)).strip(" ")


def _word_pattern(word: str) -> str:
    pieces = re.findall(r"[^\W_]+", word)
    return r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, pieces)) + r"[^\W_]*"


class _Folded(dict[int, str]):
    """One character for each, so that places in folded text are places in the text itself."""

    def __missing__(self, code: int) -> str:
        folded = unicodedata.normalize("NFKD", chr(code)).casefold()[:1] or chr(code)
        self[code] = folded
        return folded


_FOLDED = _Folded()


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_FOLDED)
