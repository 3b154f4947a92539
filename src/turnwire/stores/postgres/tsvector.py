"""The search index's own words as PostgreSQL's `tsvector` and `tsquery`.

A tsvector places words up to position 16,383, and each word at most 256 times. An entry with more
words is divided into parts. A part begins with the last words of the part before it, so that every
phrase is found in one of them: a phrase of 1,000 words, or of 125 where a word is repeated often.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnwire.stores.query import Query
from turnwire.stores.tokens import tokens
from turnwire.stores.words import indexed

__all__ = ["queries_of", "vectors_of"]

_MOST_WORDS = 16_000  # of one part
_MOST_PLACES = 250  # of one word in a part
_OVERLAP = 1000  # words of the longest phrase: a search has at most 1,000 characters
_MOST_BYTES = 2000  # of a word; longer ones are cut, in the index and in searches


def vectors_of(text: str) -> list[str]:
    """Returns the words of a text as tsvectors: one, or several for a long text."""
    words = [_cut(word) for word in tokens(indexed(text))]
    return [_vector(part) for part in _parts(words)]


def _parts(words: Sequence[str]) -> list[Sequence[str]]:
    parts = []
    start = 0
    while start < len(words):
        end = _end_of_part(words, start)
        parts.append(words[start:end])
        if end == len(words):
            break
        start = end - min(_OVERLAP, (end - start) // 2)
    return parts


def _end_of_part(words: Sequence[str], start: int) -> int:
    last = min(start + _MOST_WORDS, len(words))
    counts: dict[str, int] = {}
    for place in range(start, last):
        word = words[place]
        counts[word] = counts.get(word, 0) + 1
        if counts[word] > _MOST_PLACES:
            return place
    return last


def _vector(words: Sequence[str]) -> str:
    places: dict[str, list[str]] = {}
    for place, word in enumerate(words, 1):
        places.setdefault(word, []).append(str(place))
    return " ".join(f"{_quoted(word)}:{','.join(found)}" for word, found in places.items())


def queries_of(query: Query) -> list[str] | None:
    """Returns each phrase of a search as a tsquery; None if one of them has no words."""
    asked = []
    for phrase, is_prefix in query.phrases:
        words = [_quoted(_cut(word)) for word in tokens(phrase)]
        if not words:
            return None
        asked.append(" <-> ".join(words) + (":*" if is_prefix else ""))
    return asked or None


def _cut(word: str) -> str:
    if len(word) * 4 <= _MOST_BYTES:
        return word
    return word.encode()[:_MOST_BYTES].decode("utf-8", "ignore")


def _quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
