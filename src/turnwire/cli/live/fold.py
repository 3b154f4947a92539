"""Folds long lines: between words, and between Chinese, Japanese and Korean characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text

__all__ = ["folded"]

_OPENING = "（《「『【〈〔“‘"
_CLOSING = "，。、；：？！）》」』】〉〕”’…—～·"
_WIDE = "\u2e80-\u303e\u3041-\u4dbf\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\U00020000-\U0003ffff"

# An unbreakable piece: a word, or one wide character, with its punctuation.
_PIECE = re.compile(f"[{_OPENING}]*(?:[^\\s{_WIDE}{_OPENING}]+|\\S)?[{_CLOSING}]*\\s*")


def folded(text: Text, width: int) -> list[Text]:
    """Returns the lines of a text, none wider than `width` unless a single character is."""
    return [line for part in text.split("\n", allow_blank=True) for line in _fold(part, width)]


def _fold(line: Text, width: int) -> list[Text]:
    if cell_len(line.plain) <= width:
        return [line]
    parts = line.divide(list(_breaks(line.plain, width)))
    for part in parts:
        part.rstrip()
    return list(parts)


def _breaks(text: str, width: int) -> Iterator[int]:
    used = 0
    for found in _PIECE.finditer(text):
        piece = found[0]
        cells = cell_len(piece.rstrip())
        if used and used + cells > width:
            yield found.start()
            used = 0
        if cells > width:  # a word longer than a line: cut it where the line ends
            for at, letter in enumerate(piece.rstrip(), found.start()):
                size = cell_len(letter)
                if used + size > width:
                    yield at
                    used = 0
                used += size
            used += len(piece) - len(piece.rstrip())
        else:
            used += cell_len(piece)
