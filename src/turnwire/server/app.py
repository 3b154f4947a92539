"""The application: mount it in any ASGI application, or let `turnwire serve` run it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

from turnwire.core.error_codes import Refused
from turnwire.server.access.keys import OWNER
from turnwire.server.access.public import Public
from turnwire.server.api.responses import problem
from turnwire.server.api.routes import Door, make_router
from turnwire.server.service import Service
from turnwire.server.sockets.socket import serve_socket
from turnwire.server.tcp.stop_notice import StopNotice
from turnwire.settings import Settings
from turnwire.settings_check import check_settings

__all__ = ["App", "create_app"]

_STOPPING = "The server is stopping."


def create_app(settings: Settings | None = None) -> App:
    """An ASGI application with the WebSocket and the HTTP interface of Turnwire.

    app = FastAPI(lifespan=chat.lifespan)
    app.mount("/chat", chat)

    Raises BadSetting for what cannot be meant.
    """
    return App(settings or Settings())


class App:
    """An ASGI application."""

    def __init__(self, settings: Settings) -> None:
        check_settings(settings)
        self.settings = settings
        self._public = Public(settings.public_url)
        self._service: Service | None = None
        self._routes: tuple[Service, Door] | None = None
        self._opening = asyncio.Lock()
        self._stopped = False  # a stop has begun, and nobody has started it again
        self._notice: StopNotice | None = None  # of the server that this runs in, while it is open
        self._stopping: asyncio.Task[None] | None = None  # begun by that notice

    @asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        """For an application that this one is mounted in: frameworks start only their own."""
        await self.start()
        try:
            yield
        finally:
            await self.stop()

    def _stop_early(self) -> None:
        """The server is about to stop, and waits for our clients: they have to be told to go."""
        if self._service is not None:
            self._stopping = asyncio.create_task(self._close(), name="turnwire stops")

    async def start(self) -> Service:
        """Open everything, once."""
        self._stopped = False
        async with self._opening:
            return await self._open()

    async def stop(self) -> None:
        """Close everything. Whoever asks for something from now on is told to come again."""
        stopping, self._stopping = self._stopping, None
        if stopping is not None:
            await stopping
        await self._close()

    async def _close(self) -> None:
        self._stopped = True
        async with self._opening:
            if self._notice is not None:
                self._notice.end()
                self._notice = None
            if self._service is not None:
                service, self._service = self._service, None
                await service.close()

    async def _open(self) -> Service:
        if self._service is None:
            self._service = await Service.open(self.settings)
            self._notice = StopNotice(self._stop_early)
        return self._service

    async def _running(self) -> Service | None:
        """Without a lifespan the first request opens everything; none: it has stopped.

        Requests that come while it stops must not open it again: what waits in a queue would begin,
        and be cut off at once.
        """
        if self._service is None and not self._stopped:
            async with self._opening:
                if not self._stopped:
                    return await self._open()
        return None if self._stopped else self._service

    def wake_watchdog(self) -> None:
        """Wakes the watchdog: called for each request that may take long."""
        if self._service is not None:
            self._service.watchdog.wake()

    def disconnect(self, user: str) -> None:
        """Cut every connection of this user now: they have signed out, or may no longer come in.

        Tickets that they have fetched and not used open nothing any more. For users of `Settings.authenticate`, which is asked only when they come. A token of
        Turnwire's is revoked instead: see `revoke`.
        """
        if self._service is not None:
            self._service.sign_out(user)

    async def revoke(self, token_id: str) -> bool:
        """Revoke a token, and cut every connection that came in with it, at once.

        False: there was none that opened anything.
        """
        service = await self._running()
        if service is None:
            raise Refused("STORAGE_UNAVAILABLE", _STOPPING)
        done = await service.keys.revoke(token_id, OWNER)
        service.hub.cut({token_id})
        return done

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        service = await self._running()
        if service is None:
            await _turn_away(scope, receive, send)
            return
        service.watchdog.wake()
        scope = self._public.place(scope)
        if scope["type"] == "websocket":
            await serve_socket(service, dict(scope), receive, send)
        else:
            await self._router(service)(scope, receive, send)

    def _router(self, service: Service) -> Door:
        if self._routes is None or self._routes[0] is not service:
            self._routes = (service, make_router(service))
        return self._routes[1]

    async def _live(self, receive: Any, send: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.start()
                except Exception as failure:
                    await send({"type": "lifespan.startup.failed", "message": str(failure)})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _turn_away(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    """The server stops, or has stopped: come again."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": 4000})
    else:
        refused = Refused("STORAGE_UNAVAILABLE", _STOPPING)
        await problem(refused)(scope, receive, send)
