"""The clock port: the interface of time and timers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

__all__ = ["Clock", "Timer"]


Timer: TypeAlias = Callable[[], None]


class Clock(Protocol):
    """A source of time, replaceable so that tests need not wait."""

    def now(self) -> int:
        """Returns milliseconds since 1970. The time may jump in both directions."""

    def call_at(self, at: int, run: Callable[[], None]) -> Timer:
        """Calls `run` when `now` reaches `at`, or at once if it has.

        Returns a handle to cancel it.
        """

    def call_after(self, milliseconds: int, run: Callable[[], None]) -> Timer:
        """Calls `run` after this time has passed, regardless of jumps of `now`."""
