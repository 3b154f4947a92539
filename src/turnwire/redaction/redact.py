"""Redaction and size limit of raw agent messages, which are stored only for debugging."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Raw

from turnwire.redaction.secret_patterns import KINDS, REDACTED, Kind

__all__ = ["PREVIEW_LENGTH", "RAW_LIMIT", "may_hold_secrets", "raw_event", "redact_text"]

RAW_LIMIT = 16 * 1024  # bytes of an agent's raw message that are stored
PREVIEW_LENGTH = 1000  # characters that are stored of a longer message

# Keys of JSON objects whose values are secrets. Separators between the words of a key are removed.
_SECRET_KEY = re.compile(
    r"apikey|secret|passw(or)?d|passphrase|authorization|credential|cookie|privatekey|accesskey"
    r"|accountkey|token$"
)
_KEY_SIGNS = ("credential", "cookie", "privatekey", "private_key", "private-key")

# One of these letters is in every mark of a secret. A text without the letter cannot have the mark.
# The letters that are rarest in agents' messages come first.
_ANCHORS = "@=~zjx/qwvkhgb8ycm"


def _sign_pattern(signs: Iterable[str]) -> re.Pattern[str]:
    """Returns a pattern that finds all signs in one pass.

    The pattern starts at a rare letter, then looks ahead and back.
    """
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


# Nearly every message has no sign, so this check must be fast: a hundred plain searches take five
# times as long. A sign with capitals is searched case-sensitively. A sign without a rare letter is
# searched separately.
_SIGNS = frozenset((*_KEY_SIGNS, *(sign for kind in KINDS for sign in kind.signs)))
_EXACT = tuple(sign for sign in _SIGNS if not sign.islower())
_COMMON = tuple(sign for sign in _SIGNS.difference(_EXACT) if not set(sign) & set(_ANCHORS))
_SIGN = _sign_pattern(_SIGNS.difference(_EXACT, _COMMON))
# The same, each with the kind of secret that it is a sign of. Words that agents often use are signs
# of the first kinds; a message has a sign of the others only rarely, so these are searched in one pass.
_FREQUENT = frozenset(kind for kind in KINDS if kind.is_frequent)
_LOWERED = [
    (sign, kind) for kind in KINDS for sign in kind.signs if sign.islower() and "(?" not in sign
]
_FREQUENT_SIGNS = [(sign, kind) for sign, kind in _LOWERED if kind in _FREQUENT]
_RARE_SIGNS = [(sign, kind) for sign, kind in _LOWERED if kind not in _FREQUENT]
_RARE = _sign_pattern(sign for sign, _ in _RARE_SIGNS if sign not in _COMMON)
_CASED = [(sign, kind) for kind in KINDS for sign in kind.signs if not sign.islower()]
_PATTERNS = [(re.compile(sign), kind) for kind in KINDS for sign in kind.signs if "(?" in sign]
_LONGEST_KEY = 64  # characters of a key whose meaning is cached
_SHAPES = tuple(kind.shape for kind in KINDS if kind.shape is not None)


def raw_event(raw: bytes | Raw, limit: int = RAW_LIMIT) -> str:
    """Returns an agent's raw message as JSON for storage.

    Secrets are redacted. A message longer than `limit` is cut to a preview.
    """
    size = len(memoryview(raw))
    if size > limit:
        # The redacted text is longer than the preview, so that no secret is cut before it is
        # recognized.
        begin = str(memoryview(raw)[: 16 * PREVIEW_LENGTH], "utf-8", "replace")
        preview = redact_text(begin)[:PREVIEW_LENGTH]
        return _json({"payload_preview": preview, "raw_size": size})
    try:
        text = str(raw, "utf-8")
        if not may_hold_secrets(text):
            return text
        return _json(_redacted(msgspec.json.decode(text), _kinds_in(text)))
    except (ValueError, RecursionError):  # invalid UTF-8, `1e999`, or too deeply nested
        return _json(redact_text(str(raw, "utf-8", "replace")))


def redact_text(text: str) -> str:
    """Returns the text with everything that looks like a secret redacted."""
    return _without(text, _kinds_in(text))


def may_hold_secrets(text: str) -> bool:
    """Returns whether a message has a sign of a secret.

    False means that no known sign was found.
    """
    for sign in _EXACT:
        if sign in text:
            return True
    lowered = text.lower()
    for sign in _COMMON:
        if sign in lowered:
            return True
    return _SIGN.search(lowered) is not None or any(has(text) for has in _SHAPES)


def _kinds_in(text: str) -> list[Kind]:
    """Returns the kinds of secrets that a message, or any part of it, may contain."""
    lowered = text.lower()
    found = {kind for sign, kind in _FREQUENT_SIGNS if sign in lowered}
    if _RARE.search(lowered) is not None or any(sign in lowered for sign in _COMMON):
        found.update(kind for sign, kind in _RARE_SIGNS if sign in lowered)
    found.update(kind for sign, kind in _CASED if sign in text)
    found.update(kind for pattern, kind in _PATTERNS if pattern.search(lowered) is not None)
    found.update(kind for kind in KINDS if kind.shape is not None and kind.shape(text))
    return [kind for kind in KINDS if kind in found]


def _redacted(value: Any, kinds: list[Kind]) -> Any:
    """Returns decoded JSON without secrets.

    Values of keys that name a secret are redacted, and every text that looks like a secret.
    """
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
    # An empty value or a flag is no secret.
    if value is None or value == "" or isinstance(value, bool):
        return False
    return _names_secret(key) if len(key) <= _LONGEST_KEY else _names_secret.__wrapped__(key)


@lru_cache(1024)
def _names_secret(key: str) -> bool:
    return _SECRET_KEY.search(re.sub(r"[\W_]", "", key.lower())) is not None


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
