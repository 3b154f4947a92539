"""Divides long work on the event loop into short slices, so that other clients do not wait for it.

Replays, exports and listings work through thousands of entries. Each of them has a `LongWork` and
asks it between two entries whether its slice is over. All long work of a loop shares one queue:
between two turns of the loop only one of them runs, for one slice, and then the next in line. So
the delay that other clients see does not grow with the number of replays.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from weakref import WeakKeyDictionary

__all__ = ["SLICE", "LongWork", "reading"]

SLICE = 0.00025  # seconds that long work may take between two turns of the loop
_READING = 1  # page that is read at once for long work: others find a thread, and the interpreter


class _Pace:
    """The queue of one event loop."""

    def __init__(self) -> None:
        self.reading = asyncio.Semaphore(_READING)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False  # long work has run, or may run, before the next turn of the loop

    async def wait(self) -> None:
        """Wait for a slice; returns at once if none was given since the loop's last turn."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._next)
            return
        waiting = loop.create_future()
        self._waiting.append(waiting)
        await waiting

    def _next(self) -> None:
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # else it was cancelled
                first.set_result(None)
                asyncio.get_running_loop().call_soon(self._next)
                return
        self._is_taken = False


_paces: WeakKeyDictionary[asyncio.AbstractEventLoop, _Pace] = WeakKeyDictionary()


def _pace() -> _Pace:
    loop = asyncio.get_running_loop()
    pace = _paces.get(loop)
    if pace is None:
        pace = _paces[loop] = _Pace()
    return pace


class LongWork:
    """One piece of long work. Ask `is_due` between two steps of it, and then `give_way`."""

    __slots__ = ("_pace", "_until")

    def __init__(self) -> None:
        self._pace = _pace()
        self._until = 0.0

    @property
    def is_due(self) -> bool:
        """Whether the slice is over. The first one has not begun yet."""
        return perf_counter() >= self._until

    async def give_way(self) -> None:
        """Let everything else run, then wait for the next slice."""
        await self._pace.wait()
        self._until = perf_counter() + SLICE


def reading() -> asyncio.Semaphore:
    """Held while a page is read for long work: its threads must not take all of the store's."""
    return _pace().reading
