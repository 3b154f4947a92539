"""Our own server: uvicorn, with what it does not know of a WebSocket and of stopping."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
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

_LEAST_HELD = 64 * 1024  # bytes that a transport may hold, however little may wait for a client
_MOST_HELD = 256 * 1024  # and however much
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class WebSocket(SlicedWebSocket):
    """A WebSocket that can be ended at once, and that notices when nobody is there any more."""

    _silent: Callable[[], None] | None = None
    _heard_at = 0.0
    _gone: asyncio.Event | None = None  # if somebody waits for that

    def __init__(self, *, gone: Callable[[], None], **uvicorns: Any) -> None:
        """`gone` is called when the connection is closed."""
        super().__init__(**uvicorns)
        self._tell_gone = gone

    def hold_at_most(self, size: int) -> None:
        """Let the transport hold so many bytes until it says that it is not open."""
        self.transport.set_write_buffer_limits(high=min(max(size, _LEAST_HELD), _MOST_HELD))

    def is_open(self) -> bool:
        """Whether a frame can be written now, without waiting."""
        return self.writable.is_set() and not self.close_sent and not self.transport.is_closing()

    def write(self, frame: bytes) -> None:
        """Write one, as a text message: whole, not masked, not compressed (RFC 6455, 5.2)."""
        size = len(frame)
        if size < 126:
            head = b"\x81%c" % size
        elif size < 65536:
            head = b"\x81\x7e%c%c" % (size >> 8, size & 255)
        else:
            head = b"\x81\x7f" + size.to_bytes(8, "big")
        self.transport.write(head + frame)

    def write_piece(self, piece: bytes | memoryview, *, is_first: bool, is_last: bool) -> None:
        """Write a part of a text message, as a frame of its own (RFC 6455, 5.4).

        Between two of them a ping, or the end of the connection, can still be told.
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
        """Wait until the client has taken most of what was written. Raises ConnectionError."""
        await self.writable.wait()
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ConnectionError("The client has gone.")

    async def goodbye(self, code: int) -> None:
        """Write the close frame, also to a client that does not read: it comes next if it reads again.

        Only what the transport still holds stands before it. After a while the rest is dropped.
        """
        if self.close_sent or self.disconnected:
            return
        self.writable.set()
        await self.send({"type": "websocket.close", "code": code, "reason": ""})
        if self.close_timer is not None:  # to close it would wait for this client for ever
            self.close_timer.cancel()
            self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)

    def abort(self) -> None:
        """End it at once. Closing would wait until a client that does not read has read."""
        self.transport.abort()

    def when_silent(self, tell: Callable[[], None]) -> None:
        """Call this when nothing has been heard for too long."""
        self._silent = tell

    async def until_gone(self) -> None:
        """Wait until nothing of it is left."""
        self._gone = self._gone or asyncio.Event()
        if not self.disconnected:
            await self._gone.wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing of it is left."""
        super().connection_lost(exc)
        self._tell_gone()
        if self._gone is not None:
            self._gone.set()

    async def run_asgi(self) -> None:
        """The application's part."""
        self.scope["extensions"][WIRE] = self  # type: ignore[assignment]
        await super().run_asgi()

    def data_received(self, data: bytes) -> None:
        """Whatever comes is a sign of life."""
        self._heard_at = self.loop.time()
        super().data_received(data)

    def keepalive_timeout(self) -> None:
        """A ping was not answered in time. Who said something else meanwhile is asked once more.

        Whoever vanishes is noticed after the same time, whatever they said last, and when.
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
    """Stops in this order: turns end and are told, clients are closed, then the sockets."""

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
            # What is a little too large is refused with an error; only the rest is cut off.
            ws_max_size=4 * settings.max_frame_bytes,
            ws_ping_interval=settings.ping_seconds,
            ws_ping_timeout=settings.pong_seconds,
            ws_per_message_deflate=False,
            # Longer than proxies and clients keep a line for the next request, which would meet its end.
            timeout_keep_alive=75,
            lifespan="on",
            access_log=False,  # addresses hold one-time links
            # Its warnings are about single malformed requests: anyone could fill the log with them.
            log_level="error",
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        super().__init__(config)
        self.failure: BaseException | None = None  # why it could not be started, or announced
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

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Until it is told to stop."""
        super().run(sockets or [self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open everything, listen, and then say so."""
        set_up_process()
        try:
            await self._app.start()  # the framework below would log the reason, and keep it
            await super().startup([])  # without sockets: it would accept without a limit
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
        """First what people see, then what they do not."""
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

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stopping because somebody said so is a good end: the signal is not raised again."""
        before = {sig: signal.signal(sig, self.handle_exit) for sig in _SIGNALS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def bind(settings: Settings, *, any_port: bool) -> socket.socket:
    """The address to listen on. `any_port`: the usual port, or a free one, if that one is taken."""
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
    """Where a browser finds it."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
