"""Reads the words of a search: bounded, as an FTS5 expression, and as terms to be marked."""

from __future__ import annotations

import re
from collections.abc import Iterable

from turnwire.core.error_codes import Refused
from turnwire.core.text import clean
from turnwire.stores.snippet import Term, fold
from turnwire.stores.words import CJK, normalized, pairs

__all__ = ["MOST_CHARACTERS", "MOST_WORDS", "Query"]

# Every word costs SQLite a lookup in its index, and every hit a search for the word.
MOST_CHARACTERS = 1000  # a longer search is refused
MOST_WORDS = (
    50  # of a search with more different words, as of a pasted sentence, the first ones count
)

_RUN_OR_REST = f"([{CJK}]+)|([^{CJK}]+)"  # compiled by the first search: it takes long


class Query:
    """The words of one search, read once for all hits.

    Every word has to be in an entry; each also finds longer words that begin with it. No character
    has a special meaning. Words beyond the limit are ignored: an entry that has them is still found.
    """

    def __init__(self, words: str) -> None:
        """Raises Refused (INVALID_PAYLOAD) if there are too many characters."""
        if len(words) > MOST_CHARACTERS:
            raise Refused(
                "INVALID_PAYLOAD",
                f"The search has {len(words)} characters; it may have {MOST_CHARACTERS}."
                " Search for a few words.",
                max_characters=MOST_CHARACTERS,
            )
        split = list(dict.fromkeys(_split(clean(words))))
        self.ignored = max(len(split) - MOST_WORDS, 0)  # number of words that do not count
        split = split[:MOST_WORDS]
        # For SQLite; None if no word has a letter or a digit.
        self.expression = " AND ".join(_asked(run, rest) for run, rest in split) or None
        terms = (Term(fold(run or rest), is_run=bool(run)) for run, rest in split)
        # The longest first: it is the rarest, and the place to show.
        self.terms = sorted(terms, key=lambda term: -len(term.text))


def _split(words: str) -> Iterable[tuple[str, str]]:
    """Returns each word as a run of Chinese, Japanese or Korean, or as other text with a letter or digit."""
    plain = normalized(words).replace('"', " ").replace("\0", " ")
    for word in plain.split():
        for run, rest in re.findall(_RUN_OR_REST, word):
            if run or any(map(str.isalnum, rest)):
                yield run, rest


def _asked(run: str, rest: str) -> str:
    """Returns one word as FTS5 has it: a run by its pairs of characters, other text by its beginning."""
    if len(run) > 1:
        return f'"{pairs(run)}"'
    return f'"{run or rest}"*'
