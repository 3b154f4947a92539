"""The clock of the machine: the time, and timers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from turnwire.ports import Timer

__all__ = ["SystemClock"]

_LOOK_AGAIN = 60.0  # seconds; the clock may be set while a timer waits


class SystemClock:
    """The machine's clock. A timer checks it every minute, in case the clock is set."""

    def now(self) -> int:
        """Returns the milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def call_at(self, at: int, run: Callable[[], None]) -> Timer:
        """Calls `run` at a time of day. Returns a function that cancels the call."""
        loop = asyncio.get_running_loop()
        handle: asyncio.TimerHandle

        def look() -> None:
            nonlocal handle
            left = (at - self.now()) / 1000
            if left <= 0:
                run()
            else:
                handle = loop.call_later(min(left, _LOOK_AGAIN), look)

        left = max((at - self.now()) / 1000, 0)
        handle = loop.call_later(min(left, _LOOK_AGAIN), look)
        return lambda: handle.cancel()

    def call_after(self, milliseconds: int, run: Callable[[], None]) -> Timer:
        """Calls `run` after a duration. Returns a function that cancels the call."""
        return asyncio.get_running_loop().call_later(max(milliseconds, 0) / 1000, run).cancel
