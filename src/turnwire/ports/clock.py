"""What a clock promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

__all__ = ["Clock", "Timer"]


Timer: TypeAlias = Callable[[], None]


class Clock(Protocol):
    """Time, so that tests need not wait for it."""

    def now(self) -> int:
        """Milliseconds since 1970. It may jump, in both directions."""

    def call_at(self, at: int, run: Callable[[], None]) -> Timer:
        """Run this when `now` has reached `at`; at once if it has. Returns what cancels it."""

    def call_after(self, milliseconds: int, run: Callable[[], None]) -> Timer:
        """Run this when so much time has passed, wherever `now` has jumped meanwhile."""
