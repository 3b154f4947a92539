"""A clock that stands still until it is told to go on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from turnwire.ports import Timer

__all__ = ["ManualClock"]


class ManualClock:
    """Time for tests: nothing happens by itself, and nothing has to be waited for."""

    def __init__(self, now: int = 1_767_268_800_000) -> None:
        self._now = now
        self._timers: list[
            tuple[int, int, Callable[[], None]]
        ] = []  # few: looked through each time
        self._whiles: set[int] = set()  # timers that take a while, however the clock is set
        self._numbers = count()

    def now(self) -> int:
        """Milliseconds since 1970."""
        return self._now

    def call_at(self, at: int, run: Callable[[], None]) -> Timer:
        """Run this when the clock is moved to `at` or beyond; at once, if it is there already."""
        return self._call(at, run, next(self._numbers))

    def call_after(self, milliseconds: int, run: Callable[[], None]) -> Timer:
        """Run this when the clock was moved so far, wherever it has jumped meanwhile."""
        number = next(self._numbers)
        self._whiles.add(number)
        return self._call(self._now + milliseconds, run, number)

    def _call(self, at: int, run: Callable[[], None], number: int) -> Timer:
        if at <= self._now:
            self._whiles.discard(number)
            run()
            return lambda: None
        self._timers.append((at, number, run))
        return lambda: self._forget(number)

    def _forget(self, number: int) -> None:
        self._whiles.discard(number)
        self._timers = [timer for timer in self._timers if timer[1] != number]

    def forward(self, seconds: float) -> None:
        """Let time pass, and run what was due, in order."""
        until = self._now + round(seconds * 1000)
        while self._timers:
            at, number, run = min(self._timers, key=lambda timer: timer[:2])
            if at > until:
                break
            self._forget(number)
            self._now = max(self._now, at)
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
