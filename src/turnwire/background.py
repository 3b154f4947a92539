"""Background tasks, kept until they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

__all__ = ["BackgroundTasks"]

T = TypeVar("T")


class BackgroundTasks:
    """A set of tasks. asyncio keeps only weak references, so an unreferenced task may be lost."""

    def __init__(self, ended: Callable[[asyncio.Task[Any]], None] | None = None) -> None:
        """`ended` is called with each task that has ended, after its removal."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ended = ended

    def __len__(self) -> int:
        return len(self._tasks)

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        return iter(list(self._tasks))

    def run(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._ended is not None:
            task.add_done_callback(self._ended)
        return task

    def cancel(self) -> list[asyncio.Task[Any]]:
        """Cancels every task except the current one. Returns the cancelled tasks."""
        cancelled = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in cancelled:
            task.cancel()
        return cancelled

    async def done(self) -> None:
        """Waits until all current tasks have ended. Raises the exception of a failed task."""
        await asyncio.gather(*self._tasks)
