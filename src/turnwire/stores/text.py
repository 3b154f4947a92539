"""Text that every database takes: a lone surrogate is no character and cannot be written as UTF-8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec
from msgspec import Struct, structs

__all__ = ["clean", "encode_clean", "json_text"]

T = TypeVar("T")


@overload
def clean(text: str) -> str: ...
@overload
def clean(text: str | None) -> str | None: ...
def clean(text: str | None) -> str | None:
    """The text with U+FFFD in place of each lone surrogate."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def json_text(thing: Any) -> str:
    """Anything that msgspec can write, as JSON."""
    return encode_clean(msgspec.json.encode, thing)


def encode_clean(encode: Callable[[T], bytes], thing: T) -> str:
    """What `encode` makes of it, also where it holds lone surrogates."""
    try:
        return encode(thing).decode()
    except UnicodeEncodeError:
        return encode(_cleaned(thing)).decode()


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean(value)
        case list() | tuple():
            return [_cleaned(item) for item in value]
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in value.items()}
        case Struct():
            fields = {name: _cleaned(item) for name, item in structs.asdict(value).items()}
            return structs.replace(value, **fields)
        case _:
            return value
