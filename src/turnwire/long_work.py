"""Divides long work on the event loop into short slices, so that other clients do not wait for it.

Replays, exports and listings work through thousands of entries. Each of them has a `LongWork` and asks it between two entries
whether its slice is over. All long work of a loop shares one queue: only one of them runs, for one slice; then the loop turns a few
times without long work, and then the next in line runs. So the delay that other clients see does not grow with the number of replays.
While the loop has no other work, slices are longer: the pauses between them would take more time than the work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from time import perf_counter
from typing import TypeVar
from weakref import WeakKeyDictionary

__all__ = ["SLICE", "LongWork", "mapped_in_slices", "reading"]

T = TypeVar("T")
U = TypeVar("U")

SLICE = 0.0001  # seconds that long work may take between two turns of the loop
_LONGEST_SLICE = 0.0005  # the same while nothing else runs on the loop
_QUIET = 0.00006  # seconds for two turns of a loop on which nothing else runs
_QUIET_TIMES = 10  # pauses in a row after which the loop counts as quiet
_TURNS = (
    3  # turns of the loop between two slices: what a request takes from its bytes to its answer
)
_READING = 1  # pages that are read at once for long work: other reads find a free thread


class _Queue:
    """The long work of one event loop, first come, first served."""

    def __init__(self) -> None:
        self.reading = asyncio.Semaphore(_READING)
        self.slice = SLICE
        self._quiet = 0  # pauses in a row in which nothing else ran
        self._paused = 0.0  # when the pause began
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False  # long work runs, or has run within the last turns of the loop

    async def wait(self) -> None:
        """Waits for a slice; returns at once if none was given within the last turns of the loop."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._turn, _TURNS)
            return
        waiting = loop.create_future()
        self._waiting.append(waiting)
        await waiting

    def _turn(self, left: int) -> None:
        """Called once in each turn of the loop. Gives the next slice when so many are over."""
        loop = asyncio.get_running_loop()
        if left == _TURNS:
            self._paused = perf_counter()
        if left > 1:
            loop.call_soon(self._turn, left - 1)
            return
        self._quiet = self._quiet + 1 if perf_counter() - self._paused < _QUIET else 0
        self.slice = SLICE if self._quiet < _QUIET_TIMES else _LONGEST_SLICE
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # else it was cancelled
                first.set_result(None)
                loop.call_soon(self._turn, _TURNS)
                return
        self._is_taken = False


_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()


def _queue() -> _Queue:
    loop = asyncio.get_running_loop()
    queue = _queues.get(loop)
    if queue is None:
        queue = _queues[loop] = _Queue()
    return queue


class LongWork:
    """One piece of long work. Ask `is_due` between two steps of it, and then `give_way`."""

    __slots__ = ("_queue", "_until")

    def __init__(self) -> None:
        self._queue = _queue()
        self._until = 0.0

    @property
    def slice(self) -> float:
        """The length of a slice at this moment, in seconds."""
        return self._queue.slice

    @property
    def is_due(self) -> bool:
        """Whether the slice is over. The first one has not begun yet."""
        return perf_counter() >= self._until

    async def give_way(self) -> None:
        """Lets everything else run, then waits for the next slice."""
        await self._queue.wait()
        self._until = perf_counter() + self._queue.slice


async def mapped_in_slices(make: Callable[[T], U], items: Iterable[T]) -> list[U]:
    """Returns what `make` gives for each item. Gives way between two of them.

    Takes the items out of their list, if it is one: to free thousands of them at once would hold the loop as well.
    """
    work = LongWork()
    made: list[U] = []
    for item in _taken_out(items) if isinstance(items, list) else items:
        if work.is_due:
            await work.give_way()
        made.append(make(item))
    return made


def _taken_out(items: list[T]) -> Iterator[T]:
    """Yields the items in order, and leaves the list empty."""
    items.reverse()
    while items:
        yield items.pop()


def reading() -> asyncio.Semaphore:
    """Held while a page is read for long work: it must not take all threads of the store."""
    return _queue().reading
