"""Handles the bytes of a connection in slices, so that no read holds the event loop for long.

One read has up to 256 kB: forty thousand empty pings, or as many chunks of one byte. Parsing and
answering all of them at once takes more than a second.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from turnwire.server.app import App
from turnwire.server.tcp.uvicorn_compat import Config, H11Protocol, WebSocketsSansIOProtocol

__all__ = ["SlicedHttp", "SlicedWebSocket", "Slices"]

_SLICE = 1024  # bytes: up to two hundred of the smallest frames or chunks, some milliseconds
_TIME_SLICE = 0.005  # seconds until the loop runs its other callbacks
_MOST_LINES = 400  # maximum lines of an HTTP read that is handled at once


class Slices:
    """Passes bytes on in order. Pauses reading while some bytes wait."""

    def __init__(
        self,
        take: Callable[[bytes], None],
        transport: asyncio.Transport,
        may_read: Callable[[], bool],
    ) -> None:
        """`take` handles bytes. `may_read` tells whether reading may resume when no bytes wait."""
        self._take = take
        self._transport = transport
        self._may_read = may_read
        self._rest = bytearray()
        self._loop = asyncio.get_running_loop()

    def feed(self, data: bytes) -> None:
        """Handles bytes for one time slice. The rest is handled in later iterations of the loop."""
        if self._rest:
            self._rest += data
            self._transport.pause_reading()
            return
        done = self._handle(data)
        if done < len(data):
            self._rest += data[done:]
            self._transport.pause_reading()
            self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if self._transport.is_closing():
            self._rest.clear()
            return
        data = bytes(self._rest[: _SLICE * 128])
        del self._rest[: self._handle(data)]
        if self._rest:
            self._loop.call_soon(self._go_on)
        elif self._may_read() and not self._transport.is_closing():
            self._transport.resume_reading()

    def _handle(self, data: bytes) -> int:
        """Handles bytes for one time slice. Returns how many were handled."""
        until = time.monotonic() + _TIME_SLICE
        done = 0
        while done < len(data) and not self._transport.is_closing():
            self._take(data[done : done + _SLICE])
            done += _SLICE
            if time.monotonic() > until:
                break
        return min(done, len(data))


class SlicedHttp(H11Protocol):
    """Handles HTTP in slices: a request may have many tiny chunks and headers."""

    _slices: Slices | None = None

    def data_received(self, data: bytes) -> None:
        """Handles a read with few lines at once, such as a large body.

        Divides others into slices.
        """
        _wake_watchdog(self.config)
        if self._slices is None:
            if data.count(b"\n") <= _MOST_LINES:
                self.take_bytes(data)
                return
            self._slices = Slices(self._take, self.transport, lambda: not self.flow.read_paused)
        self._slices.feed(data)

    def take_bytes(self, data: bytes) -> None:
        """Handles one slice."""
        super().data_received(data)

    def _take(self, data: bytes) -> None:
        if self.transport.get_protocol() is self:  # False after an upgrade to a WebSocket
            self.take_bytes(data)


class SlicedWebSocket(WebSocketsSansIOProtocol):
    """Handles a WebSocket in slices: a client may send many empty frames."""

    _slices: Slices | None = None

    def data_received(self, data: bytes) -> None:
        """Handles a short read at once. Divides others into slices."""
        _wake_watchdog(self.config)
        if self._slices is None:
            if len(data) <= _SLICE:
                super().data_received(data)
                return
            take, transport = super().data_received, self.transport
            self._slices = Slices(take, transport, lambda: not self.read_paused)
        self._slices.feed(data)


def _wake_watchdog(config: Config) -> None:
    """Wakes the watchdog of the application before received bytes are handled."""
    app = config.app
    if isinstance(app, App):
        app.wake_watchdog()
