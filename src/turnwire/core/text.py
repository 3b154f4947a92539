"""Replaces lone surrogates in text, which UTF-8 cannot encode.

The log and the wire use the same replacement, so that sent and stored text are equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec
from msgspec import Struct, structs

__all__ = ["clean", "encode_clean", "json_text", "repair_json", "writable"]

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


@overload
def clean(text: str) -> str: ...
@overload
def clean(text: str | None) -> str | None: ...
def clean(text: str | None) -> str | None:
    """Returns the text with U+FFFD in place of each lone surrogate."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def writable(thing: T) -> T:
    """Returns the same object, or a copy with clean text if some text was not encodable."""
    try:
        _encode(thing)
    except UnicodeEncodeError:
        mended: T = _cleaned(thing)
        return mended
    return thing


def json_text(thing: Any) -> str:
    """Returns any value that msgspec can encode as JSON text."""
    return encode_clean(_encode, thing).decode()


def encode_clean(encode: Callable[[T], bytes], thing: T) -> bytes:
    """Returns the encoded value; replaces lone surrogates if necessary."""
    try:
        return encode(thing)
    except UnicodeEncodeError:
        return encode(_cleaned(thing))


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list():
            return [_cleaned(item) for item in value]
        case tuple():
            return tuple(_cleaned(item) for item in value)
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in value.items()}
        case Struct():
            fields = {name: _cleaned(item) for name, item in structs.asdict(value).items()}
            return structs.replace(value, **fields)
        case _:
            return value


_LONE_SURROGATE = re.compile(
    rb"(?<!\\)((?:\\\\)*)"  # an even number of backslashes before it: a real escape
    rb"(?:(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"  # a valid pair, kept
    rb"|\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


def repair_json(raw: bytes) -> bytes:
    """Returns JSON with U+FFFD in place of each escaped lone surrogate, as JavaScript writes them."""
    return _LONE_SURROGATE.sub(_keep_pairs, raw)


def _keep_pairs(match: re.Match[bytes]) -> bytes:
    return match[0] if match[2] else match[1] + rb"\ufffd"
