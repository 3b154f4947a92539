"""Notices that uvicorn is about to stop, before uvicorn waits for its clients to leave.

uvicorn closes its sockets first, then waits until every response has ended, and only then tells the
application. A stream of changes ends when the application ends it, so both would wait for each other.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from types import FrameType, MethodType
from typing import Any

__all__ = ["StopNotice"]

_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)
]


class StopNotice:
    """Calls `tell` in the event loop when a signal has told uvicorn to stop.

    uvicorn's own handlers stay in place, behind these. Signals that another program handles are
    left alone, and so are those of a server in another thread, which gets none.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        """To be made in the event loop of the server."""
        self._tell = tell
        self._loop = asyncio.get_running_loop()
        self._before: dict[int, MethodType] = {}  # uvicorn's handlers
        self._is_over = False
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if isinstance(handler, MethodType) and _is_stoppable(handler.__self__):
                    self._before[number] = handler
                    signal.signal(number, self._handle)

    @property
    def should_exit(self) -> bool:
        """Whether uvicorn is to stop. A second application in the same process looks here for it."""
        return any(handler.__self__.should_exit for handler in self._before.values())  # type: ignore[attr-defined]

    def end(self) -> None:
        """Give the signals back to uvicorn."""
        self._is_over = True
        for number, handler in self._before.items():
            if signal.getsignal(number) == self._handle:  # else another one stands before it
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._before[number](number, frame)
        if not self._is_over and self.should_exit:
            self._is_over = True
            self._loop.call_soon_threadsafe(self._tell)


def _is_stoppable(server: Any) -> bool:
    """Whether this is uvicorn, or something like it. Our own server stops the application itself."""
    return hasattr(server, "should_exit") and not getattr(server, "stops_its_app", False)
