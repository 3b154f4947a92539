"""Assertions with messages for the checks; a plain `assert` has no message and can be disabled."""

from __future__ import annotations

from collections.abc import Awaitable

__all__ = ["Broken", "expect", "expect_raises"]


class Broken(AssertionError):
    """Raised if a check finds a broken promise."""


def expect(kept: bool, promise: str) -> None:
    """Raises Broken with the promise if it was not kept."""
    if not kept:
        raise Broken(f"broken promise: {promise}")


async def expect_raises(error: type[Exception], doing: Awaitable[object], what: str) -> None:
    """Raises Broken unless `doing` raises this error."""
    try:
        await doing
    except error:
        return
    except Exception as other:
        raise Broken(f"{what} raised {other!r} rather than {error.__name__}") from other
    raise Broken(f"{what} was accepted; it must raise {error.__name__}")
