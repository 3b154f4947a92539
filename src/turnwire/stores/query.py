"""Parses the words of a search into an FTS5 expression and terms to mark in snippets."""

from __future__ import annotations

import re
from collections.abc import Iterable

from turnwire.core.error_codes import Refused
from turnwire.core.text import clean
from turnwire.stores.snippet import Term, fold
from turnwire.stores.words import CJK, normalized, pairs

__all__ = ["MOST_CHARACTERS", "MOST_WORDS", "Query"]

# Each word costs SQLite one index lookup, and one more search in every hit.
MOST_CHARACTERS = 1000  # a longer search is refused
MOST_WORDS = 50  # of a longer search, such as a pasted sentence, the first different words count

_RUN_OR_REST = f"([{CJK}]+)|([^{CJK}]+)"  # compiled at the first search, because compiling is slow


class Query:
    """The words of one search, parsed once for all hits.

    An entry must contain every word. A word also finds longer words that begin with it. No
    character has a special meaning. Words beyond the limit are ignored, so they exclude no entry.
    """

    def __init__(self, words: str) -> None:
        """Raises Refused (INVALID_PAYLOAD) if the search has too many characters."""
        if len(words) > MOST_CHARACTERS:
            raise Refused(
                "INVALID_PAYLOAD",
                f"The search has {len(words)} characters; it may have {MOST_CHARACTERS}."
                " Search for a few words.",
                max_characters=MOST_CHARACTERS,
            )
        split = list(dict.fromkeys(_split(clean(words))))
        self.ignored = max(len(split) - MOST_WORDS, 0)  # number of words beyond the limit
        split = split[:MOST_WORDS]
        # Each word as a phrase, and whether longer words that begin with it are found, too.
        self.phrases = [_phrase(run, rest) for run, rest in split]
        # The FTS5 expression; None if no word has a letter or a digit.
        self.expression = " AND ".join(map(_asked, self.phrases)) or None
        terms = (Term(fold(run or rest), is_run=bool(run)) for run, rest in split)
        # The longest term comes first: it is the rarest, so the snippet is cut around it.
        self.terms = sorted(terms, key=lambda term: -len(term.text))


def _split(words: str) -> Iterable[tuple[str, str]]:
    """Yields each word as a pair: a run of Chinese, Japanese or Korean, or other text.

    One of the two is empty. Other text has at least one letter or digit.
    """
    plain = normalized(words).replace('"', " ").replace("\0", " ")
    for word in plain.split():
        for run, rest in re.findall(_RUN_OR_REST, word):
            if run or any(map(str.isalnum, rest)):
                yield run, rest


def _phrase(run: str, rest: str) -> tuple[str, bool]:
    """Returns one word as a phrase, and whether it is a prefix.

    A run becomes a phrase of character pairs. Other text becomes a prefix search.
    """
    return (pairs(run), False) if len(run) > 1 else (run or rest, True)


def _asked(phrase: tuple[str, bool]) -> str:
    """Returns one phrase in FTS5 syntax."""
    text, is_prefix = phrase
    return f'"{text}"*' if is_prefix else f'"{text}"'
