"""Notices that uvicorn is about to stop, before uvicorn waits for its clients to leave.

uvicorn closes its sockets first, then waits until every response has ended, and only then notifies
the application. The application has to end streams of changes, so both would wait for each other.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType, MethodType
from typing import Any

__all__ = ["StopNotice"]

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
]


class StopNotice:
    """Calls `stop` in the event loop when a signal has told uvicorn to stop.

    SIGTERM is held back until `drain` has ended. A second signal is not: it ends the wait.

    These handlers call uvicorn's own handlers first. Signals with handlers of other programs are
    not touched. A server in another thread receives no signals, so it is not touched either.
    """

    def __init__(
        self,
        stop: Callable[[], None],
        drain: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ) -> None:
        """Installs the handlers. Has to be called in the event loop of the server."""
        self._stop = stop
        self._drain = drain
        self._loop = asyncio.get_running_loop()
        self._before: dict[int, MethodType] = {}  # uvicorn's handlers, or those of another notice
        self._draining: asyncio.Task[None] | None = None
        self._has_drained = drain is None  # or drains
        self._is_over = False
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if isinstance(handler, MethodType) and _is_stoppable(handler.__self__):
                    self._before[number] = handler
                    signal.signal(number, self._handle)

    @property
    def should_exit(self) -> bool:
        """Returns whether uvicorn is to stop. The notice of a second application reads it."""
        return any(handler.__self__.should_exit for handler in self._before.values())  # type: ignore[attr-defined]

    def end(self) -> None:
        """Restores uvicorn's own handlers."""
        self._is_over = True
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._handle:  # not replaced by another notice
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        notices = self._notices(number)
        waiting = [each for each in notices if not each._has_drained and not each._is_over]
        if number == signal.SIGTERM and waiting and not self.should_exit:
            for each in notices:
                each._has_drained = True
            self._loop.call_soon_threadsafe(self._hold, number, waiting)
        else:
            for each in notices:
                each._has_drained = True  # the first signal decides
            self._pass_on(number, frame)

    def _notices(self, number: int) -> list[StopNotice]:
        """Returns the notices of all applications under the same uvicorn, this one first."""
        handler = self._before[number].__self__
        return [self, *(handler._notices(number) if isinstance(handler, StopNotice) else ())]

    def _hold(self, number: int, waiting: list[StopNotice]) -> None:
        self._draining = asyncio.create_task(self._drain_all(number, waiting))

    async def _drain_all(self, number: int, waiting: list[StopNotice]) -> None:
        await asyncio.gather(*(each._drain() for each in waiting if each._drain is not None))
        if not self.should_exit:
            self._pass_on(number, None)

    def _pass_on(self, number: int, frame: FrameType | None) -> None:
        self._before[number](number, frame)
        if not self._is_over and self.should_exit:
            self._is_over = True
            self._loop.call_soon_threadsafe(self._stop)


def _is_stoppable(server: Any) -> bool:
    """Returns whether this is uvicorn or similar. Our own server stops the application itself."""
    return hasattr(server, "should_exit") and not getattr(server, "stops_its_app", False)
