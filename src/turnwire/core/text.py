"""Text that can be written: a lone surrogate is no character, and UTF-8 has no bytes for it.

The log and the wire mend it in the same way, so that what is sent is what was written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec
from msgspec import Struct, structs

__all__ = ["clean", "encode_clean", "json_text", "writable"]

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


@overload
def clean(text: str) -> str: ...
@overload
def clean(text: str | None) -> str | None: ...
def clean(text: str | None) -> str | None:
    """The text with U+FFFD in place of each lone surrogate."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def writable(thing: T) -> T:
    """The very same thing, or one that has clean text wherever it had other."""
    try:
        _encode(thing)
    except UnicodeEncodeError:
        mended: T = _cleaned(thing)
        return mended
    return thing


def json_text(thing: Any) -> str:
    """Anything that msgspec can write, as JSON."""
    return encode_clean(_encode, thing).decode()


def encode_clean(encode: Callable[[T], bytes], thing: T) -> bytes:
    """What `encode` makes of it, also where it holds lone surrogates."""
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
