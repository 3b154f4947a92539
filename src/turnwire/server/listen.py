"""Our own server: uvicorn, with what it does not know of a WebSocket and of stopping."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from turnwire.server.app import App
from turnwire.server.socket import WIRE
from turnwire.settings import Settings

__all__ = ["Server", "address_of", "bind"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class WebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that can be ended at once, and that notices when nobody is there any more."""

    _silent: Callable[[], None] | None = None
    _heard_at = 0.0
    _gone: asyncio.Event | None = None  # if somebody waits for that

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


class Server(uvicorn.Server):
    """Stops in this order: turns end and are told, clients are closed, then the sockets."""

    def __init__(
        self,
        app: App,
        settings: Settings,
        listener: socket.socket,
        announce: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        config = uvicorn.Config(
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
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=5,
        )
        super().__init__(config)
        self.failure: BaseException | None = None  # why it could not be started, or announced
        self._app = app
        self._listener = listener
        self._announce = announce

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Until it is told to stop."""
        super().run(sockets or [self._listener])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open everything, listen, and then say so."""
        try:
            await self._app.start()  # the framework below would log the reason, and keep it
            await super().startup(sockets)
            if self._announce is not None:
                await self._announce()
        except Exception as failure:
            self.failure = failure
            self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First what people see, then what they do not."""
        for server in self.servers:
            server.close()
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
    """The address to listen on; another port if that one is taken and it may be another."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    for port in (settings.port, 0) if any_port else (settings.port,):
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
