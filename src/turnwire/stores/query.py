"""What a person searches for: bounded, as an FTS5 expression, and as words to be shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from turnwire.core.error_codes import Refused
from turnwire.core.text import clean
from turnwire.stores.snippet import Term, fold
from turnwire.stores.words import CJK, normalized, pairs

__all__ = ["MOST_CHARACTERS", "MOST_WORDS", "Query"]

# Every word costs SQLite a look into its index, and every hit a look for the word.
MOST_CHARACTERS = 1000
MOST_WORDS = 50

_RUN_OR_REST = f"([{CJK}]+)|([^{CJK}]+)"  # compiled by the first search: it takes long


class Query:
    """The words of one search, read once for all hits.

    Every word has to be in an entry; each also finds longer words that begin with it. No character
    that a person types has a meaning of its own.
    """

    def __init__(self, words: str) -> None:
        """Raises Refused (INVALID_PAYLOAD) if there are too many characters or words."""
        if len(words) > MOST_CHARACTERS:
            raise Refused(
                "INVALID_PAYLOAD",
                f"The search has {len(words)} characters; it may have {MOST_CHARACTERS}."
                " Search for a few words.",
                max_characters=MOST_CHARACTERS,
            )
        split = list(dict.fromkeys(_split(clean(words))))
        if len(split) > MOST_WORDS:
            raise Refused(
                "INVALID_PAYLOAD",
                f"The search has {len(split)} words; it may have {MOST_WORDS}."
                " Search for those that matter most.",
                max_words=MOST_WORDS,
            )
        # For SQLite; None if no word has a letter or a digit.
        self.expression = " AND ".join(_asked(run, rest) for run, rest in split) or None
        terms = (Term(fold(run or rest), is_run=bool(run)) for run, rest in split)
        # The longest first: it is the rarest, and the place to show.
        self.terms = sorted(terms, key=lambda term: -len(term.text))


def _split(words: str) -> Iterable[tuple[str, str]]:
    """Each word as a run of characters without spaces, or as anything else with a letter in it."""
    plain = normalized(words).replace('"', " ").replace("\0", " ")
    for word in plain.split():
        for run, rest in re.findall(_RUN_OR_REST, word):
            if run or any(map(str.isalnum, rest)):
                yield run, rest


def _asked(run: str, rest: str) -> str:
    if len(run) > 1:
        return f'"{pairs(run)}"'
    return f'"{run or rest}"*'
