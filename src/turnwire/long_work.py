"""Divides long work on the event loop into short slices, so that other clients do not wait for it.

Replays, exports and listings process thousands of entries. Each has a `LongWork`, and checks
between two entries whether its slice is over. All long work of a loop shares one queue. One job
runs for one slice. Then the loop runs a few iterations without long work, and the next job in the
queue runs. So the delay for other clients does not grow with the number of replays.
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

SLICE = 0.0001  # seconds that long work may take between two iterations of the loop
# Iterations of the loop between two slices: enough for a request, from its bytes to its answer.
_TURNS = 3
_READING = 1  # pages read concurrently for long work: other reads find a free thread


class _Queue:
    """The long work of one event loop, first come, first served."""

    def __init__(self) -> None:
        self.reading = asyncio.Semaphore(_READING)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_taken = False  # long work is running, or ran in one of the last iterations

    async def wait(self) -> None:
        """Waits for a slice; returns at once if no other job had one recently."""
        loop = asyncio.get_running_loop()
        if not self._is_taken:
            self._is_taken = True
            loop.call_soon(self._turn, _TURNS)
            return
        waiting = loop.create_future()
        self._waiting.append(waiting)
        await waiting

    def _turn(self, left: int) -> None:
        """Runs once per iteration of the loop.

        Gives the next slice after `left` more iterations.
        """
        loop = asyncio.get_running_loop()
        if left > 1:
            loop.call_soon(self._turn, left - 1)
            return
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # otherwise it was cancelled
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
    """One long job. Check `is_due` between two steps of it, and then await `give_way`."""

    __slots__ = ("_queue", "_until")

    def __init__(self) -> None:
        self._queue = _queue()
        self._until = 0.0

    @property
    def is_due(self) -> bool:
        """Returns whether the slice is over. Also true before the first slice."""
        return perf_counter() >= self._until

    async def give_way(self) -> None:
        """Lets other work run, then waits for the next slice."""
        await self._queue.wait()
        self._until = perf_counter() + SLICE


async def mapped_in_slices(make: Callable[[T], U], items: Iterable[T]) -> list[U]:
    """Returns the result of `make` for each item, and gives way between two items.

    Empties `items` if it is a list: freeing thousands of items at once would block the loop as
    well.
    """
    work = LongWork()
    made: list[U] = []
    for item in _taken_out(items) if isinstance(items, list) else items:
        if work.is_due:
            await work.give_way()
        made.append(make(item))
    return made


def _taken_out(items: list[T]) -> Iterator[T]:
    """Yields the items in order, and empties the list."""
    items.reverse()
    while items:
        yield items.pop()


def reading() -> asyncio.Semaphore:
    """Returns the semaphore to hold while a page is read for long work.

    Long work must not occupy all threads of the store.
    """
    return _queue().reading
