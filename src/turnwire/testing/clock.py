"""A clock that stands still until it is told to go on."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from turnwire.ports import Timer

__all__ = ["ManualClock"]


class ManualClock:
    """Time for tests: nothing happens by itself, and nothing has to be waited for."""

    def __init__(self, now: int = 1_767_268_800_000) -> None:
        self._now = now
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._cancelled: set[int] = set()
        self._whiles: set[int] = set()  # timers that take a while, however the clock is set
        self._numbers = count()

    def now(self) -> int:
        """Milliseconds since 1970."""
        return self._now

    def call_at(self, at: int, run: Callable[[], None]) -> Timer:
        """Run this when the clock is moved to `at` or beyond."""
        number = next(self._numbers)
        heapq.heappush(self._timers, (at, number, run))
        return lambda: self._cancelled.add(number)

    def call_after(self, milliseconds: int, run: Callable[[], None]) -> Timer:
        """Run this when the clock was moved so far, wherever it has jumped meanwhile."""
        number = next(self._numbers)
        self._whiles.add(number)
        heapq.heappush(self._timers, (self._now + milliseconds, number, run))
        return lambda: self._cancelled.add(number)

    def forward(self, seconds: float) -> None:
        """Let time pass, and run what was due, in order."""
        until = self._now + round(seconds * 1000)
        while self._timers and self._timers[0][0] <= until:
            at, number, run = heapq.heappop(self._timers)
            self._now = max(self._now, at)
            if number not in self._cancelled:
                run()
        self._now = until

    def jump(self, seconds: float) -> None:
        """Set the clock, as people and machines do, forward or back; nothing runs by itself."""
        by = round(seconds * 1000)
        self._now += by
        self._timers = [
            (at + by if number in self._whiles else at, number, run)
            for at, number, run in self._timers
        ]
        heapq.heapify(self._timers)
