"""Secrets out of what is kept only for debugging, and only so much of it."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Raw

__all__ = ["PREVIEW_LENGTH", "RAW_LIMIT", "REDACTED", "raw_event", "redact", "redact_text"]

RAW_LIMIT = 16 * 1024  # bytes of an agent's message that are kept
PREVIEW_LENGTH = 1000  # characters of a longer one
REDACTED = "[redacted]"

# A message in which this finds nothing, in lower case, has no secret that we could find. Nearly every
# message ends here, so it has to be fast: each alternative begins with a letter that is rare, and looks
# back from it. Sixteen plain searches take twice as long.
_SIGN = re.compile(
    r"k(?:ey(?:(?<=apikey)|(?<=api[_-]key)|(?<=accesskey)|(?<=access[_-]key)|(?<=privatekey)"
    r"|(?<=private[ _-]key))|(?<=tok)en(?!s)|(?<=cook)ie|(?<=sk)-|(?<=ak)ia)"
    r"|c(?:redential|(?<=sec)ret)|w(?<=passw)|z(?<=authoriz)|bearer\s"
    r"|_(?:(?<=ghp_)|(?<=github_)pat_)|xox|j(?<=eyj)"
)

_SECRET_KEY = re.compile(
    r"apikey|secret|passw(or)?d|authorization|credential|cookie|privatekey|accesskey|token$"
)
_NAME = r"(?:api[_-]?key|secret|passw(?:or)?d|authorization|access[_-]?key|token(?!s))[\w.-]{0,64}"
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
            re.DOTALL,
        ),
        REDACTED,
    ),
    (
        # name = value, name: "value", name: Bearer value, also as JSON inside a string.
        re.compile(
            rf"({_NAME}\\*[\"']?\s*[:=]\s*\\*[\"']?)((?:bearer|basic)\s+)?[^\s\"',;&}}\\]+",
            re.IGNORECASE,
        ),
        rf"\1\2{REDACTED}",
    ),
    # A word without a digit is more likely to be a word: "bearer authentication".
    (
        re.compile(r"\b(bearer\s+)(?=\S*\d)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE),
        rf"\1{REDACTED}",
    ),
    (re.compile(r"\bsk-[A-Za-z0-9_-]{16,}"), REDACTED),
    (re.compile(r"\b(?:ghp_|github_pat_)[A-Za-z0-9_]{16,}"), REDACTED),
    (re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{10,}"), REDACTED),
    (re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), REDACTED),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"), REDACTED),
)


def raw_event(raw: bytes | Raw, limit: int = RAW_LIMIT) -> str:
    """An agent's own message as the JSON that is kept: no secrets, of a long one only the beginning."""
    size = len(memoryview(raw))
    if size > limit:
        # More is looked at than is kept, so that no secret is cut before it is seen.
        begin = bytes(raw)[: 16 * PREVIEW_LENGTH].decode(errors="replace")
        preview = redact_text(begin)[:PREVIEW_LENGTH]
        return _json({"payload_preview": preview, "raw_size": size})
    try:
        text = str(raw, "utf-8")
        if not _may_hold_secrets(text):
            return text
        return _json(redact(msgspec.json.decode(text)))
    except (ValueError, RecursionError):  # no UTF-8, `1e999`, too deep
        return _json(redact_text(str(raw, "utf-8", "replace")))


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def redact(value: Any) -> Any:
    """Decoded JSON without secrets: the values of telling keys, and what looks like one anywhere."""
    match value:
        case str():
            return redact_text(value)
        case list():
            return [redact(item) for item in value]
        case dict():
            return {
                key: REDACTED if _is_secret(key, item) else redact(item)
                for key, item in value.items()
            }
        case _:
            return value


def redact_text(text: str) -> str:
    """Text without what looks like a secret."""
    for pattern, instead in _PATTERNS:
        text = pattern.sub(instead, text)
    return text


def _is_secret(key: str, value: Any) -> bool:
    if value is None or value == "" or isinstance(value, bool):  # that there is one is no secret
        return False
    return _SECRET_KEY.search(re.sub(r"[\W_]", "", key.lower())) is not None


def _may_hold_secrets(text: str) -> bool:
    return _SIGN.search(text.lower()) is not None or "ASIA" in text
