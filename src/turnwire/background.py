"""Background tasks: they run beside the code that starts them, and are kept until they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

__all__ = ["BackgroundTasks"]

T = TypeVar("T")


class BackgroundTasks:
    """A set of tasks. asyncio itself keeps no task, so one that is not kept may vanish half done."""

    def __init__(self, ended: Callable[[asyncio.Task[Any]], None] | None = None) -> None:
        """`ended` is called with each task that has ended, and is not kept any more."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ended = ended

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        return iter(list(self._tasks))

    def run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._ended is not None:
            task.add_done_callback(self._ended)
        return task

    def cancel(self) -> list[asyncio.Task[Any]]:
        """Cancel every task but the one that asks for it. Returns those that were cancelled."""
        cancelled = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in cancelled:
            task.cancel()
        return cancelled

    async def done(self) -> None:
        """Wait until all that run now have ended. Raises what one of them raises."""
        await asyncio.gather(*self._tasks)
