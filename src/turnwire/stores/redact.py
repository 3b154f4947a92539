"""Secrets out of what is kept only for debugging, and only so much of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from turnwire.stores.secret_patterns import KINDS, REDACTED, Kind

__all__ = ["PREVIEW_LENGTH", "RAW_LIMIT", "may_hold_secrets", "raw_event", "redact_text"]

RAW_LIMIT = 16 * 1024  # bytes of an agent's message that are kept
PREVIEW_LENGTH = 1000  # characters of a longer one

# Keys of JSON objects whose values are secrets, without what is between their words.
_SECRET_KEY = re.compile(
    r"apikey|secret|passw(or)?d|passphrase|authorization|credential|cookie|privatekey|accesskey"
    r"|accountkey|token$"
)
_KEY_SIGNS = ("credential", "cookie", "privatekey", "private_key", "private-key")

# The letters by which signs are found, the rarest first, as agents' messages have them.
_ANCHORS = "@=~zjx/qwvkhgb8ycm"


def _sign_pattern(signs: Iterable[str]) -> re.Pattern[str]:
    """Finds all signs at once: from a letter that is rare, it looks ahead and then back."""
    by_anchor: dict[str, set[str]] = {}
    for sign in signs:
        text, _, ahead = sign.partition("(?")
        anchor = next(letter for letter in _ANCHORS if letter in text)
        before, _, after = text.partition(anchor)
        found = re.escape(after) + (f"(?{ahead}" if ahead else "")
        if before:
            found += f"(?<={re.escape(text)})"
        by_anchor.setdefault(anchor, set()).add(found)
    each = (f"{re.escape(a)}(?:{'|'.join(sorted(found))})" for a, found in by_anchor.items())
    return re.compile("|".join(each))


# Nearly every message has no sign at all, so this has to be fast: a hundred plain searches take five
# times as long. A sign with capitals is looked for as it is, one without a rare letter by itself.
_SIGNS = frozenset((*_KEY_SIGNS, *(sign for kind in KINDS for sign in kind.signs)))
_EXACT = tuple(sign for sign in _SIGNS if not sign.islower())
_COMMON = tuple(sign for sign in _SIGNS.difference(_EXACT) if not set(sign) & set(_ANCHORS))
_SIGN = _sign_pattern(_SIGNS.difference(_EXACT, _COMMON))
_SHAPES = tuple(kind.shape for kind in KINDS if kind.shape is not None)


def raw_event(raw: bytes | Raw, limit: int = RAW_LIMIT) -> str:
    """An agent's own message as the JSON that is kept: no secrets, of a long one only the beginning."""
    size = len(memoryview(raw))
    if size > limit:
        # More is looked at than is kept, so that no secret is cut before it is seen.
        begin = str(memoryview(raw)[: 16 * PREVIEW_LENGTH], "utf-8", "replace")
        preview = redact_text(begin)[:PREVIEW_LENGTH]
        return _json({"payload_preview": preview, "raw_size": size})
    try:
        text = str(raw, "utf-8")
        if not may_hold_secrets(text):
            return text
        return _json(_redacted(msgspec.json.decode(text), _kinds_in(text)))
    except (ValueError, RecursionError):  # no UTF-8, `1e999`, too deep
        return _json(redact_text(str(raw, "utf-8", "replace")))


def redact_text(text: str) -> str:
    """Text without what looks like a secret."""
    return _without(text, _kinds_in(text))


def may_hold_secrets(text: str) -> bool:
    """Whether a message has a sign of a secret. False: it has none that is known."""
    for sign in _EXACT:
        if sign in text:
            return True
    lowered = text.lower()
    for sign in _COMMON:
        if sign in lowered:
            return True
    return _SIGN.search(lowered) is not None or any(has(text) for has in _SHAPES)


def _kinds_in(text: str) -> list[Kind]:
    """The kinds of secrets that may be in a message, and in any part of it."""
    lowered = text.lower()
    return [
        kind
        for kind in KINDS
        if any(_has(sign, text, lowered) for sign in kind.signs)
        or (kind.shape is not None and kind.shape(text))
    ]


def _has(sign: str, text: str, lowered: str) -> bool:
    if "(?" in sign:
        return re.search(sign, lowered) is not None
    return sign in lowered if sign.islower() else sign in text


def _redacted(value: Any, kinds: list[Kind]) -> Any:
    """Decoded JSON without secrets: the values of telling keys, and what looks like one anywhere."""
    match value:
        case str():
            return _without(value, kinds)
        case list():
            return [_redacted(item, kinds) for item in value]
        case dict():
            return {
                _without(key, kinds): REDACTED if _is_secret(key, item) else _redacted(item, kinds)
                for key, item in value.items()
            }
        case _:
            return value


def _without(text: str, kinds: list[Kind]) -> str:
    for kind in kinds:
        text = kind.take_out(text)
    return text


def _is_secret(key: str, value: Any) -> bool:
    if value is None or value == "" or isinstance(value, bool):  # that there is one is no secret
        return False
    return _SECRET_KEY.search(re.sub(r"[\W_]", "", key.lower())) is not None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
