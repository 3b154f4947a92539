"""Repeats work on the store until the store is available, or until the shutdown."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import TypeVar

from turnwire.ports import Clock, StorageUnavailable

__all__ = ["StoreRetries"]

_RETRY = (250, 500, 1000, 2000, 5000)  # milliseconds between attempts to write
_T = TypeVar("_T")


class StoreRetries:
    """The retries of one conversation. `failed` is called after each failure."""

    def __init__(self, clock: Clock, failed: Callable[[StorageUnavailable], None]) -> None:
        self._clock = clock
        self._failed = failed
        self._try_again = asyncio.Event()
        self.is_stopping = False  # from now on, a failure is the last one

    def stop(self) -> None:
        """Makes the next failure the last one, and ends a pause."""
        self.is_stopping = True
        self._try_again.set()

    async def run(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Retries until the store is available. Raises StorageUnavailable at shutdown."""
        for attempt in itertools.count():
            try:
                return await work()
            except StorageUnavailable as down:
                self._failed(down)
                if self.is_stopping:
                    raise  # the next start recovers the log
                await self._pause(_RETRY[min(attempt, len(_RETRY) - 1)])
        raise AssertionError  # the loop has no end

    async def _pause(self, milliseconds: int) -> None:
        """Waits for a duration, or until the shutdown."""
        again = self._clock.call_after(milliseconds, self._try_again.set)
        await self._try_again.wait()
        self._try_again.clear()
        again()
