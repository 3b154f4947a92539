"""Our own uvicorn server: WebSockets with backpressure and timeouts, and an ordered shutdown."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from turnwire.server.app import App
from turnwire.server.sockets.socket import WIRE
from turnwire.server.tcp.acceptor import Acceptor
from turnwire.server.tcp.connections import TcpConnection, TcpConnections
from turnwire.server.tcp.http_protocol import HttpProtocol
from turnwire.server.tcp.process import give_back_memory, set_up_process, spare_the_collector
from turnwire.server.tcp.slices import SlicedWebSocket
from turnwire.server.tcp.uvicorn_compat import Config
from turnwire.server.tcp.uvicorn_compat import Server as UvicornServer
from turnwire.settings import Settings

__all__ = ["Server", "address_of", "bind"]

# Bounds of the bytes that a transport may buffer for a client, whatever the settings say.
_LEAST_HELD = 64 * 1024
_MOST_HELD = 256 * 1024
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class WebSocket(SlicedWebSocket):
    """A WebSocket that can be closed at once, and that notices a silent client."""

    _silent: Callable[[], None] | None = None
    _heard_at = 0.0
    _gone: asyncio.Event | None = None  # made by `until_gone`

    def __init__(self, *, gone: Callable[[], None], **uvicorns: Any) -> None:
        """`gone` is called when the connection is closed."""
        super().__init__(**uvicorns)
        self._tell_gone = gone

    def hold_at_most(self, size: int) -> None:
        """Sets how many bytes the transport buffers before `is_open` returns False."""
        self.transport.set_write_buffer_limits(high=min(max(size, _LEAST_HELD), _MOST_HELD))

    def is_open(self) -> bool:
        """Returns whether a frame can be written now, without waiting."""
        return self.writable.is_set() and not self.close_sent and not self.transport.is_closing()

    def write(self, frame: bytes) -> None:
        """Writes a frame as a text message: whole, not masked, not compressed (RFC 6455, 5.2)."""
        size = len(frame)
        if size < 126:
            head = b"\x81%c" % size
        elif size < 65536:
            head = b"\x81\x7e%c%c" % (size >> 8, size & 255)
        else:
            head = b"\x81\x7f" + size.to_bytes(8, "big")
        self.transport.write(head + frame)

    def write_piece(self, piece: bytes | memoryview, *, is_first: bool, is_last: bool) -> None:
        """Writes a part of a text message, as a frame of its own (RFC 6455, 5.4).

        A ping or a close frame can be written between two parts.
        """
        size = len(piece)
        first = (0x80 if is_last else 0) | (0x01 if is_first else 0)
        if size < 126:
            head = bytes((first, size))
        elif size < 65536:
            head = bytes((first, 126)) + size.to_bytes(2, "big")
        else:
            head = bytes((first, 127)) + size.to_bytes(8, "big")
        self.transport.write(head)
        self.transport.write(piece)

    async def until_open(self) -> None:
        """Waits until the client has read most of the written bytes. Raises ConnectionError."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ConnectionError("The client has left.")

    async def goodbye(self, code: int) -> None:
        """Writes the close frame, also to a client that does not read.

        Only the bytes that the transport buffers come before the close frame. They are dropped if
        the client does not read them before the close timeout.
        """
        if self.close_sent or self.disconnected:
            return
        self.writable.set()
        await self.send({"type": "websocket.close", "code": code, "reason": ""})
        if self.close_timer is not None:  # uvicorn's timer would wait for this client for ever
            self.close_timer.cancel()
            self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)

    def abort(self) -> None:
        """Ends the connection at once. `close` would wait for a client that does not read."""
        self.transport.abort()

    def when_silent(self, tell: Callable[[], None]) -> None:
        """Sets the function that is called when the client has been silent for too long."""
        self._silent = tell

    async def until_gone(self) -> None:
        """Waits until the TCP connection is closed."""
        self._gone = self._gone or asyncio.Event()
        if not self.disconnected:
            await self._gone.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Reports that the TCP connection is closed."""
        super().connection_lost(exc)
        self._tell_gone()
        if self._gone is not None:
            self._gone.set()

    async def run_asgi(self) -> None:
        """Runs the application, with this object as an extension of the scope."""
        self.scope["extensions"][WIRE] = self  # type: ignore[assignment]
        await super().run_asgi()

    def data_received(self, data: bytes) -> None:
        """Handles received bytes. All bytes count as a sign of life."""
        self._heard_at = self.loop.time()
        super().data_received(data)

    def keepalive_timeout(self) -> None:
        """Handles a missing pong. A client that has sent other bytes meanwhile gets another ping.

        The time until a vanished client is noticed is counted from its last byte.
        """
        self.pong_timer = None
        if self.close_sent or self.transport.is_closing():
            return
        assert self.ping_interval is not None
        assert self.ping_timeout is not None
        left = self._heard_at + self.ping_interval + self.ping_timeout - self.loop.time()
        if left > 0:
            self.send_keepalive_ping()
            if self.pong_timer is not None:
                self.pong_timer.cancel()
            self.pong_timer = self.loop.call_later(left, self.keepalive_timeout)
        elif self._silent is not None:
            self._silent()
        else:
            self.transport.abort()


class Server(UvicornServer):
    """The uvicorn server.

    Its shutdown first ends turns and publishes their ends, then closes clients, then the sockets.
    """

    stops_its_app = True  # see `stop_notice`

    def __init__(
        self,
        app: App,
        settings: Settings,
        listener: socket.socket,
        announce: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        config = Config(
            app,
            loop="uvloop" if _has_uvloop() else "asyncio",
            ws=WebSocket,
            # Frames somewhat above the limit are refused with an error. Larger ones are cut off.
            ws_max_size=4 * settings.max_frame_bytes,
            ws_ping_interval=settings.ping_seconds,
            ws_ping_timeout=settings.pong_seconds,
            ws_per_message_deflate=False,
            # Longer than the keep-alive of proxies and clients, or a request could meet a closed
            # connection.
            timeout_keep_alive=75,
            lifespan="on",
            access_log=False,  # addresses contain one-time links
            # uvicorn warns of every malformed request, so that any client could fill the log.
            log_level="error",
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        super().__init__(config)
        self.failure: BaseException | None = None  # why the start or `announce` failed
        self.connections = TcpConnections(
            most=settings.max_connections + settings.max_waiting_connections,
            most_waiting=settings.max_waiting_connections,
            most_waiting_per_address=settings.max_waiting_connections_per_address,
        )
        self._app = app
        self._settings = settings
        self._listener = listener
        self._announce = announce
        self._acceptors: list[Acceptor] = []
        self._giving_back: asyncio.Task[None] | None = None
        self._drains = False  # from the first SIGTERM to the end of the drain
        self._hurries = False  # a second signal has come meanwhile

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Runs until the server is told to stop."""
        super().run(sockets or [self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Opens the application, listens, and then calls `announce`."""
        set_up_process()
        try:
            await self._app.start()  # not by uvicorn, which logs a failure instead of raising it
            await super().startup([])  # without sockets: uvicorn would accept without a limit
            self._accept(sockets or [self._listener])
            spare_the_collector()
            self._giving_back = asyncio.create_task(give_back_memory())
            if self._announce is not None:
                await self._announce()
        except Exception as failure:
            self.failure = failure
            self.should_exit = True

    def _accept(self, listeners: list[socket.socket]) -> None:
        settings = self._settings

        def make_protocol(connection: TcpConnection) -> HttpProtocol:
            return HttpProtocol(
                self.config,
                self.server_state,
                self.lifespan.state,
                connections=self.connections,
                connection=connection,
                header_seconds=settings.header_seconds,
                body_seconds=settings.body_seconds,
            )

        self._acceptors = [Acceptor(each, self.connections, make_protocol) for each in listeners]
        for acceptor in self._acceptors:
            acceptor.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drains if SIGTERM has come; closes the listeners, stops the application, then uvicorn."""
        if self._drains:
            await self._drain()
        if self._giving_back is not None:
            self._giving_back.cancel()
        for acceptor in self._acceptors:
            acceptor.stop()
        for listener in sockets or [self._listener]:
            listener.close()
        stopping = asyncio.create_task(self._app.stop())
        while not stopping.done() and not self.force_exit:
            await asyncio.wait([stopping], timeout=0.1)
        await super().shutdown(sockets)

    async def _drain(self) -> None:
        """Has the application drain while the server still listens, until a second signal comes."""
        draining = asyncio.create_task(self._app.drain())
        while not draining.done() and not self._hurries:
            await asyncio.wait([draining], timeout=0.1)
        self._drains = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handles a signal. During a drain, a second one ends the drain."""
        if self._drains:
            self._hurries = True
            return
        is_first = not self.should_exit
        self._drains = is_first and sig == signal.SIGTERM and self._settings.drain_grace > 0
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handles signals, and does not raise them again: a requested stop is a success."""
        before = {sig: signal.signal(sig, self.handle_exit) for sig in _SIGNALS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def bind(settings: Settings, *, any_port: bool) -> socket.socket:
    """Returns a socket that is bound to the address of the settings.

    `any_port`: if the port is taken, tries the default port, then any free one.
    """
    usual: int = Settings().port
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    for port in (settings.port, usual, 0) if any_port else (settings.port,):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((settings.host.strip("[]"), port))
        except OSError:
            listener.close()
            if port == 0 or not any_port:
                raise
        else:
            listener.setblocking(False)
            return listener
    raise AssertionError("the last port was tried")


def _has_uvloop() -> bool:
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return False
    return True


def address_of(listener: socket.socket) -> str:
    """Returns the URL at which a browser of this machine reaches the listener."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
