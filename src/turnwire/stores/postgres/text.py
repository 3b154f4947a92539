"""Text in PostgreSQL, which stores every character but NUL.

NUL is written as two other characters. The first of them is a noncharacter of Unicode; where a text
has that itself, it is written as two characters, too. So every text is read as it was written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from turnwire.core.text import clean

__all__ = ["readable", "storable", "stored_size", "stored_text"]

_MARK = "\U0010ffff"


def storable(value: Any) -> Any:
    """Returns a text as it is stored; any other value as it is. The text has no lone surrogates."""
    if isinstance(value, str) and ("\0" in value or _MARK in value):
        return value.replace(_MARK, f"{_MARK}1").replace("\0", f"{_MARK}0")
    return value


def stored_text(text: str | None) -> Any:
    """Returns a text of a caller as it is stored."""
    return storable(clean(text))


def stored_size(text: str, encoded: bytes | None = None) -> int:
    """Returns the bytes that a text without NUL takes as it is stored."""
    size = len(text) if text.isascii() else len(text.encode() if encoded is None else encoded)
    return size + (text.count(_MARK) if _MARK in text else 0)


def readable(values: Iterable[Any]) -> list[Any]:
    """Returns the columns of a row as they were before they were stored."""
    return [
        _readable(value) if isinstance(value, str) and _MARK in value else value for value in values
    ]


def _readable(text: str) -> str:
    return text.replace(f"{_MARK}0", "\0").replace(f"{_MARK}1", _MARK)
