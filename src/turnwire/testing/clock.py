"""A manual clock for tests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from turnwire.ports import Timer

__all__ = ["ManualClock"]


class ManualClock:
    """A clock that moves only when a test moves it, so that tests need not wait."""

    def __init__(self, now: int = 1_767_268_800_000) -> None:
        self._now = now
        self._timers: list[tuple[int, int, Callable[[], None]]] = []  # unsorted: there are few
        self._whiles: set[int] = set()  # timers with a duration, which `jump` does not affect
        self._numbers = count()

    def now(self) -> int:
        """Returns the time in milliseconds since 1970."""
        return self._now

    def call_at(self, at: int, run: Callable[[], None]) -> Timer:
        """Calls `run` when the clock reaches `at`; immediately, if that time has passed."""
        return self._call(at, run, next(self._numbers))

    def call_after(self, milliseconds: int, run: Callable[[], None]) -> Timer:
        """Calls `run` after the clock moved forward by this duration. `jump` does not count."""
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
        """Moves the clock forward and runs the timers that are due, in order."""
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
        """Sets the clock forward or back, as a change of the system time does. Runs no timer."""
        by = round(seconds * 1000)
        self._now += by
        self._timers = [
            (at + by if number in self._whiles else at, number, run)
            for at, number, run in self._timers
        ]
