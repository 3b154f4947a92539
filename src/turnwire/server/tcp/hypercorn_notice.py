"""Notices that Hypercorn is about to stop, before Hypercorn waits for its clients to leave.

Hypercorn waits three seconds for open responses, or without a limit from Python 3.12 on, and only
then notifies the application. Its worker receives no signal: the parent process tells it to stop.
So this module finds the task of Hypercorn that waits for that.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["HypercornNotice"]

_AGAIN_SECONDS = 0.2  # a request may come in before Hypercorn has made the task
_TRIES = 50  # then it is installed, but another server runs


class HypercornNotice:
    """Calls `stop` in the event loop when Hypercorn begins its shutdown.

    Does nothing under other servers, and under a version of Hypercorn without such a task.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._has_found = False
        self._tries = 0
        self._again: asyncio.TimerHandle | None = None
        self._is_over = False

    def look(self) -> None:
        """Finds the task, unless it was found. Called for each request, and costs nothing then."""
        if self._has_found or self._is_over or self._again is not None or self._tries == _TRIES:
            return
        waits = getattr(sys.modules.get("hypercorn.utils"), "raise_shutdown", None)
        if waits is None:
            return
        self._tries += 1
        for task in asyncio.all_tasks():
            if getattr(task.get_coro(), "cr_code", None) is waits.__code__:
                self._has_found = True
                task.add_done_callback(self._notify)
        if not self._has_found:
            self._again = asyncio.get_running_loop().call_later(_AGAIN_SECONDS, self._look_again)

    def end(self) -> None:
        """Stops looking, and does not call `stop` any more."""
        self._is_over = True
        if self._again is not None:
            self._again.cancel()

    def _look_again(self) -> None:
        self._again = None
        self.look()

    def _notify(self, _: asyncio.Task[Any]) -> None:
        if not self._is_over:
            self._is_over = True
            self._stop()
