"""The ASGI application: mounted in another ASGI application, or run by `turnwire serve`."""

from __future__ import annotations

import asyncio
import logging
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
from turnwire.server.tcp.hypercorn_notice import HypercornNotice
from turnwire.server.tcp.stop_notice import StopNotice
from turnwire.settings import Settings
from turnwire.settings_check import check_settings

__all__ = ["App", "create_app"]

_log = logging.getLogger("turnwire")
_STOPPING = "The server is stopping."


def create_app(settings: Settings | None = None) -> App:
    """Returns an ASGI application with the WebSocket and the HTTP interface of Turnwire.

    Example:

        chat = create_app(Settings(data_dir="data", protocol_v2=True))
        app = FastAPI(lifespan=chat.lifespan)
        app.mount("/chat", chat)

    Without `protocol_v2=True` the page and the clients are refused with CHAT_PROTOCOL_DISABLED.
    Raises BadSetting if a setting is invalid or contradicts another one.
    """
    return App(settings or Settings())


class App:
    """An ASGI application with the conversations of one data directory."""

    def __init__(self, settings: Settings) -> None:
        check_settings(settings)
        self.settings = settings
        self._public = Public(settings.public_url)
        self._service: Service | None = None
        self._routes: tuple[Service, Door] | None = None
        self._opening = asyncio.Lock()
        self._stopped = False  # shutdown has begun, and `start` was not called since
        self._notice: StopNotice | None = None  # of the surrounding server, while the app is open
        self._hypercorn: HypercornNotice | None = None  # the same, if that server is Hypercorn
        self._stopping: asyncio.Task[None] | None = None  # the shutdown that the notice began

    @asynccontextmanager
    async def lifespan(self, _: Any = None) -> AsyncIterator[None]:
        """Starts and stops the app. The surrounding application calls it, as frameworks do not."""
        await self.start()
        try:
            yield
        finally:
            await self.stop()

    def _stop_early(self) -> None:
        """Begins the shutdown when the server is about to stop, as it waits for our clients."""
        if self._service is not None:
            self._stopping = asyncio.create_task(self._close(), name="turnwire stops")

    async def start(self) -> Service:
        """Opens the service, unless it is open already. Returns the service."""
        self._stopped = False
        async with self._opening:
            return await self._open()

    async def drain(self) -> None:
        """Prepares a stop, as SIGTERM does; call `stop` after it.

        `/readyz` answers 503, conversations are handed over to other nodes, and running turns have
        `drain_grace` seconds to end. `stop` ends the wait.
        """
        if self._service is not None and not self._service.is_draining:
            try:
                await self._service.drain()
            except Exception:  # a defect must not prevent the stop
                _log.exception("The server could not drain.")

    async def stop(self) -> None:
        """Closes the service. Later requests are refused until `start` is called again."""
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
            if self._hypercorn is not None:
                self._hypercorn.end()
                self._hypercorn = None
            if self._service is not None:
                service, self._service = self._service, None
                await service.close()

    async def _open(self) -> Service:
        if self._service is None:
            self._service = await Service.open(self.settings)
            drain = self.drain if self.settings.drain_grace else None
            self._notice = StopNotice(self._stop_early, drain)
            self._hypercorn = HypercornNotice(self._stop_early)
        return self._service

    async def _running(self) -> Service | None:
        """Returns the service, or None after a stop. Opens the service if there is no lifespan.

        A request during the shutdown must not open the service again: queued messages would begin
        their turns, which would be interrupted at once.
        """
        if self._service is None and not self._stopped:
            async with self._opening:
                if not self._stopped:
                    return await self._open()
        return None if self._stopped else self._service

    def wake_watchdog(self) -> None:
        """Wakes the watchdog. Called for each request that may take long."""
        if self._service is not None:
            self._service.watchdog.wake()

    def disconnect(self, user: str) -> None:
        """Closes every connection of this user, who has signed out or lost access.

        Also voids the unused tickets of this user. For users of `Settings.authenticate`, which is
        called only when a client connects. A token of Turnwire is revoked instead: see `revoke`.
        """
        if self._service is not None:
            self._service.sign_out(user)

    async def revoke(self, token_id: str) -> bool:
        """Revokes a token, and closes every connection that was authenticated with it, at once.

        Returns False if there is no valid token with this id.
        """
        service = await self._running()
        if service is None:
            raise Refused("STORAGE_UNAVAILABLE", _STOPPING)
        return await service.revoke(token_id, OWNER)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        service = await self._running()
        if service is None or (service.turns_away and scope["type"] == "websocket"):
            await _turn_away(scope, receive, send)
            return
        service.watchdog.wake()
        if self._hypercorn is not None:
            self._hypercorn.look()
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
    """Refuses a request or a WebSocket during and after the shutdown, with a retryable error."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.close", "code": 4000})
    else:
        refused = Refused("STORAGE_UNAVAILABLE", _STOPPING)
        await problem(refused)(scope, receive, send)
