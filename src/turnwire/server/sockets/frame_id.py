"""Reads the id of a frame that is refused, without decoding the rest of the frame."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

__all__ = ["id_in"]


@cache
def _decoder(name: str) -> msgspec.json.Decoder[Any]:
    """Returns a decoder that reads one field of an object, and makes no values of the others."""
    kind = msgspec.defstruct("WithId", [(name, str | None, None)])
    return msgspec.json.Decoder(kind)


def id_in(text: str, name: str) -> str | None:
    """Returns the string under this name in a JSON object, or None if it cannot be found."""
    try:
        return _read(text, name)
    except (ValueError, RecursionError):
        return _id_with_lone_surrogates(text, name)


def _read(text: str, name: str) -> str | None:
    found: str | None = getattr(_decoder(name).decode(text), name)
    return found


def _id_with_lone_surrogates(text: str, name: str) -> str | None:
    """Returns the id of a frame that contains half an emoji, a lone surrogate.

    A lone surrogate makes the whole frame unreadable. So each escaped surrogate is replaced with
    another character. An id that this replacement has changed is not returned.
    """
    if "\\ud" not in text and "\\uD" not in text:
        return None
    try:
        found = _read(text.replace("\\ud", "\\u0").replace("\\uD", "\\u0"), name)
    except (ValueError, RecursionError):
        return None
    return found if found is not None and f'"{found}"' in text else None
