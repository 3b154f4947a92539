"""HTTP on one TCP connection: uvicorn's protocol, with a deadline for each step of the client.

| the client has to            | until                                                             |
|------------------------------|-------------------------------------------------------------------|
| send the headers             | `header_seconds` after it connected, or after the first byte      |
| send the body                | `body_seconds`, and a second more for each 16 KiB that has come   |
| send the next request        | uvicorn's keep-alive timeout                                      |
| read the response            | some of it every minute                                           |

A client that misses a deadline is disconnected, without a response.
"""

from __future__ import annotations

import asyncio
from enum import Enum, auto
from functools import partial
from typing import Any

import h11
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwire.server.sse.outlet import BODY
from turnwire.server.tcp.connections import TcpConnection, TcpConnections
from turnwire.server.tcp.response_body import ResponseBody
from turnwire.server.tcp.slices import SlicedHttp
from turnwire.server.tcp.uvicorn_compat import Config, RequestResponseCycle, ServerState

__all__ = ["HttpProtocol"]

_BODY_RATE = 16_384  # bytes of a body that extend its deadline by a second
_STALL_SECONDS = 60.0  # seconds in which a client has to read some of its response


class _Phase(Enum):
    HEADERS = auto()
    BODY = auto()
    WORK = auto()  # the application handles the request
    BETWEEN = auto()  # the response is written; the next request has not begun
    CLOSING = auto()
    UPGRADED = auto()


class HttpProtocol(SlicedHttp):
    """One connection, until it is closed or becomes a WebSocket."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        *,
        connections: TcpConnections,
        connection: TcpConnection,
        header_seconds: float,
        body_seconds: float,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._inside: ASGIApp = self.app
        self.app = self._run_app
        self._connections = connections
        self._connection = connection
        self._header_seconds = header_seconds
        self._body_seconds = body_seconds
        self._phase = _Phase.HEADERS
        self._deadline: asyncio.TimerHandle | None = None
        self._body_began = 0.0
        self._body_bytes = 0
        self._stall: asyncio.TimerHandle | None = None
        self._unsent = 0  # bytes of the response that were unsent when the stall timer was set

    # --- events of the connection -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Sets the deadline for the first request of a new connection."""
        super().connection_made(transport)
        self._set_deadline(self._header_seconds)
        self._connection.connected(transport)

    def take_bytes(self, data: bytes) -> None:
        """Handles bytes of a request, and sets the deadline for the next step."""
        super().take_bytes(data)
        self._follow(has_heard=True)
        if self._phase is _Phase.BODY:
            self._body_bytes += len(data)

    def on_response_complete(self) -> None:
        """Sets the deadline for the next step after a response."""
        super().on_response_complete()
        self._follow(has_heard=False)

    def timeout_keep_alive_handler(self) -> None:
        """Closes a connection whose keep-alive timeout has passed without a request."""
        super().timeout_keep_alive_handler()
        self._follow(has_heard=False)

    def pause_writing(self) -> None:
        """Starts the stall timer: the client reads slower than the response is written."""
        super().pause_writing()
        self._watch_writing()

    def resume_writing(self) -> None:
        """Stops the stall timer: the client has read most of the written bytes."""
        super().resume_writing()
        if self._stall is not None and self._phase is not _Phase.CLOSING:
            self._stall.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancels all timers, and removes the connection from the count."""
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._set_deadline(None)
        if self._stall is not None:
            self._stall.cancel()
        self._connections.remove(self._connection)

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hands the connection over to a WebSocket."""
        self._enter(_Phase.UPGRADED)
        make: Any = self.ws_protocol_class
        gone = partial(self._connections.remove, self._connection)
        self.ws_protocol_class = partial(make, gone=gone)  # type: ignore[assignment]
        super().handle_websocket_upgrade(event)

    async def _run_app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Runs the application, with the body of its response as an extension of the scope."""
        body = ResponseBody(self.cycle, is_chunked=scope["http_version"] == "1.1")
        scope.setdefault("extensions", {})[BODY] = body
        await self._inside(scope, receive, send)

    # --- deadlines --------------------------------------------------------------------------------

    def _follow(self, *, has_heard: bool) -> None:
        """Sets the deadline for the next step of the client."""
        if self._phase is _Phase.UPGRADED:
            return
        cycle: RequestResponseCycle | None = self.cycle  # None until the first request
        is_answered = cycle is None or cycle.response_complete
        if is_answered:
            self._connections.mark_waiting(self._connection)
        else:
            self._connections.mark_working(self._connection)
        if self.transport.is_closing():
            self._enter(_Phase.CLOSING)
        elif self.conn.their_state is h11.SEND_BODY:
            self._enter(_Phase.BODY)
        elif not is_answered:
            self._enter(_Phase.WORK)
        elif has_heard:  # half of the headers, or the rest of a body that was refused
            self._enter(_Phase.HEADERS)
        else:
            self._enter(_Phase.BETWEEN)

    def _enter(self, phase: _Phase) -> None:
        if phase is self._phase:
            return
        self._phase = phase
        if phase is _Phase.HEADERS:
            self._set_deadline(self._header_seconds)
        elif phase is _Phase.BODY:
            self._body_began, self._body_bytes = self.loop.time(), 0
            self._set_deadline(self._body_seconds)
        else:
            self._set_deadline(None)
        if phase is _Phase.CLOSING:
            self._watch_writing()
        if phase is _Phase.UPGRADED:
            self._connections.mark_working(self._connection)

    def _set_deadline(self, seconds: float | None) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        late = self._late
        self._deadline = None if seconds is None else self.loop.call_later(seconds, late)

    def _late(self) -> None:
        self._deadline = None
        if self._phase is _Phase.BODY:
            now = self.loop.time()
            if self.flow.read_paused:  # the application has not read the bytes that came
                self._body_began = now
            left = self._body_began + self._body_seconds + self._body_bytes / _BODY_RATE - now
            if left > 0:
                self._set_deadline(left)
                return
        self.transport.abort()

    def _watch_writing(self) -> None:
        """Starts the timer that disconnects a client that reads nothing of its response."""
        if self._stall is not None:
            self._stall.cancel()
        self._unsent = self.transport.get_write_buffer_size()
        self._stall = self.loop.call_later(_STALL_SECONDS, self._check_writing)

    def _check_writing(self) -> None:
        self._stall = None
        unsent = self.transport.get_write_buffer_size()
        if unsent and unsent >= self._unsent:
            self.transport.abort()
        elif unsent:
            self._watch_writing()
