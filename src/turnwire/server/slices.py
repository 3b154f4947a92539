"""Bytes of a connection, handled a slice at a time, so that none of them holds the event loop.

One read brings up to 256 kB. These may be forty thousand empty pings, or as many chunks of one byte: parsing
and answering them all at once takes a second and more.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from turnwire.server.app import App

__all__ = ["SlicedHttp", "SlicedWebSocket", "Slices"]

_SLICE = 1024  # bytes: up to two hundred of the smallest parts, which take some milliseconds
_TURN = 0.005  # seconds, then whatever else waits in the loop has its turn
_LINES = 400  # in one read, up to which HTTP is handled at once


class Slices:
    """Hands bytes on in their order. While some of them wait, no more are read."""

    def __init__(
        self,
        take: Callable[[bytes], None],
        transport: asyncio.Transport,
        reads_on: Callable[[], bool],
    ) -> None:
        """`take` handles bytes; `reads_on` says whether more may be read after all are handled."""
        self._take = take
        self._transport = transport
        self._reads_on = reads_on
        self._rest = bytearray()
        self._loop = asyncio.get_running_loop()

    def feed(self, data: bytes) -> None:
        """Handle as much as fits into one turn of the loop; the rest waits for the next ones."""
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
        elif self._reads_on() and not self._transport.is_closing():
            self._transport.resume_reading()

    def _handle(self, data: bytes) -> int:
        """Return how many bytes were handled."""
        until = time.monotonic() + _TURN
        done = 0
        while done < len(data) and not self._transport.is_closing():
            self._take(data[done : done + _SLICE])
            done += _SLICE
            if time.monotonic() > until:
                break
        return min(done, len(data))


class SlicedHttp(H11Protocol):
    """HTTP, whose chunks and headers may be many and tiny."""

    _slices: Slices | None = None

    def data_received(self, data: bytes) -> None:
        """Handle at once what has few lines, as a large body has; divide the rest."""
        _watched(self.config)
        if self._slices is None:
            if data.count(b"\n") <= _LINES:
                self.take_bytes(data)
                return
            self._slices = Slices(self._take, self.transport, lambda: not self.flow.read_paused)
        self._slices.feed(data)

    def take_bytes(self, data: bytes) -> None:
        """Handle one slice."""
        super().data_received(data)

    def _take(self, data: bytes) -> None:
        if self.transport.get_protocol() is self:  # and not a WebSocket by now
            self.take_bytes(data)


class SlicedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket, whose frames may be many and empty."""

    _slices: Slices | None = None

    def data_received(self, data: bytes) -> None:
        """Handle what has come, divided unless it is short."""
        _watched(self.config)
        if self._slices is None:
            if len(data) <= _SLICE:
                super().data_received(data)
                return
            take, transport = super().data_received, self.transport
            self._slices = Slices(take, transport, lambda: not self.read_paused)
        self._slices.feed(data)


def _watched(config: uvicorn.Config) -> None:
    """Have the application watch the loop: what was received is handled from now on."""
    app = config.app
    if isinstance(app, App):
        app.wake_watchdog()
