"""Saying what was expected: `assert` says nothing outside of a test, and can be switched off."""

from __future__ import annotations

from collections.abc import Awaitable

__all__ = ["Broken", "expect", "expect_raises"]


class Broken(AssertionError):
    """A promise that was not kept."""


def expect(kept: bool, promise: str) -> None:
    """Raise Broken with the promise if it was not kept."""
    if not kept:
        raise Broken(f"not so: {promise}")


async def expect_raises(error: type[Exception], doing: Awaitable[object], what: str) -> None:
    """Raise Broken unless doing this raises this error."""
    try:
        await doing
    except error:
        return
    except Exception as other:
        raise Broken(f"{what} raised {other!r} rather than {error.__name__}") from other
    raise Broken(f"{what} was accepted; it must raise {error.__name__}")
