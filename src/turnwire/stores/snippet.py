"""Snippets of search hits, with the found words marked.

The text is searched with `str.find` in one pass. The words of a search never become a regular
expression: its cost would be the length of the text times the length of the search.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from turnwire.stores.words import CJK

__all__ = ["Term", "fold", "snippet"]

_LENGTH = 160
_BEFORE = 40
_MOST_SLOW = 3  # maximum number of terms that are searched with `find_slowly`
_MOST_FOLDED = 20_000  # maximum number of characters whose folded form is cached

_TOKEN = f"[{CJK}]+|[^{CJK} ]+"  # compiled at the first search, because compiling is slow
_CJK = f"[{CJK}]"


class Term:
    """One folded word of a search: a run of Chinese, Japanese or Korean, or pieces of other words.

    `foo_bar.py` has the pieces foo, bar and py. The last piece also matches longer words.
    """

    __slots__ = ("is_run", "pieces", "text")

    def __init__(self, folded: str, *, is_run: bool) -> None:
        self.is_run = is_run
        self.pieces = [folded] if is_run else folded.split()
        self.text = " ".join(self.pieces)

    def find(self, folded: str) -> int:
        """Returns the first position of the term in a folded text; -1 if the term is not found."""
        if self.is_run:
            return folded.find(self.text)
        if folded.startswith(self.text):
            return 0
        at = folded.find(f" {self.text}")
        return at + 1 if at >= 0 else -1

    def find_slowly(self, folded: str) -> int:
        """Returns the position of a term that `find` does not find. Costs more than `find`."""
        if self.is_run or (folded.isascii() and len(self.pieces) == 1):
            return -1
        if len(self.pieces) == 1:  # next to characters of a script without spaces: 请用API调用
            found = re.compile(f"(?<={_CJK}){re.escape(self.text)}").search(folded)
            return found.start() if found else -1
        # The text may have more than one space between two pieces.
        close = f" {' '.join(folded.split())}"
        at = close.find(f" {self.text}")
        if at < 0:
            return -1
        before = close.count(" ", 0, at)
        return len(folded) - len(folded.split(None, before)[-1])


def snippet(text: str, terms: Sequence[Term]) -> str:
    """Returns the text around the first found term.

    Each marked word has \\x02 before it and \\x03 after it.
    """
    text = text.replace("\x02", " ").replace("\x03", " ")
    folded = fold(text)
    first = _place(folded, terms)
    start = max(0, first - _BEFORE)
    end = min(len(text), start + _LENGTH)
    out = ["…"] if start else []
    at = start
    for begin, stop in _marks(folded, start, end, terms):
        out += [text[at:begin], "\x02", text[begin:stop], "\x03"]
        at = stop
    out.append(text[at:end])
    if end < len(text):
        out.append("…")
    return re.sub(r"[^\S\x02\x03]+", " ", "".join(out)).strip(" ")


def _place(folded: str, terms: Sequence[Term]) -> int:
    """Returns the position of the first found term; 0 if no term is found."""
    for term in terms:
        at = term.find(folded)
        if at >= 0:
            return at
    for term in terms[:_MOST_SLOW]:
        at = term.find_slowly(folded)
        if at >= 0:
            return at
    return 0


def _marks(folded: str, start: int, end: int, terms: Sequence[Term]) -> list[tuple[int, int]]:
    """Returns the start and end of each term between two positions of the text."""
    found = list(re.compile(_TOKEN).finditer(folded, start, end))
    tokens = [token[0] for token in found]
    is_cut = bool(start and found and _is_one_word(folded[start - 1 : start + 1]))
    marks: list[tuple[int, int]] = []
    done = 0  # number of tokens that are already marked, or are only the end of a word
    for number, token in enumerate(found):
        if re.match(_CJK, token[0]):
            marks += _marks_of_run(token[0], token.start(), terms)
        elif number >= done and not (is_cut and number == 0):
            length = _length_of_match(tokens, number, terms)
            if length:
                done = number + length
                marks.append((token.start(), found[done - 1].end()))
    return marks


def _is_one_word(two: str) -> bool:
    """Returns whether no word begins between these two characters."""
    return " " not in two and not re.search(_CJK, two)


def _length_of_match(tokens: list[str], number: int, terms: Sequence[Term]) -> int:
    """Returns how many tokens, from this one on, match a term; 0 if none matches."""
    for term in terms:
        *whole, last = term.pieces
        end = number + len(whole)
        if (
            not term.is_run
            and end < len(tokens)
            and tokens[end].startswith(last)
            and tokens[number:end] == whole
        ):
            return len(whole) + 1
    return 0


def _marks_of_run(run: str, offset: int, terms: Sequence[Term]) -> list[tuple[int, int]]:
    marks = []
    at = 0
    while at < len(run):
        length = next((len(t.text) for t in terms if t.is_run and run.startswith(t.text, at)), 0)
        if length:
            marks.append((offset + at, offset + at + length))
        at += length or 1
    return marks


class _Folded(dict[int, str]):
    """Maps each character to one folded character, so that positions in both texts are the same.

    Letters and digits lose their case and accents. Every other character becomes a space.
    """

    def __missing__(self, code: int) -> str:
        one = chr(code)
        # NFKD would split Korean syllables into letters.
        form = "NFKC" if re.match(_CJK, one) else "NFKD"
        # `form` is one of the allowed names.
        folded = unicodedata.normalize(form, one).casefold()[:1]  # type: ignore[arg-type]
        if not folded.isalnum():
            folded = " "
        if len(self) < _MOST_FOLDED:
            self[code] = folded
        return folded


_FOLDED = _Folded()


def fold(text: str) -> str:
    """Returns the text folded for comparison, with its length unchanged."""
    return text.translate(_FOLDED)
