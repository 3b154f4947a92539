"""Streams the ids of changed conversations, so that lists and the inbox need not poll."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from turnwire.core.error_codes import Refused
from turnwire.server.access.keys import Who
from turnwire.server.api.responses import SAFE_HEADERS
from turnwire.server.sockets.hub import Seat

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["Listener", "News", "changes"]

_TOGETHER = 0.05  # seconds in which changes are collected into one event
_LASTS = 300.0  # seconds of a stream; then the client has to authenticate again


class News:
    """Notifies listeners of conversations that have changed.

    The engine reports each change with the user of the conversation. So a change costs nothing for
    listeners that may not see it, and the store is not read.
    """

    def __init__(self) -> None:
        self._listeners: dict[str | None, set[Listener]] = {}  # by user; None is the owner

    def tell(self, conversation_id: str, user: str | None) -> None:
        """Notifies the listeners of this user and of the owner that a conversation has changed."""
        for name in {None, user}:
            for listener in self._listeners.get(name, ()):
                listener.changed.add(conversation_id)
                listener.news.set()

    def add(self, listener: Listener) -> None:
        """Adds a listener, which is notified until it is removed."""
        self._listeners.setdefault(listener.who.user, set()).add(listener)

    def remove(self, listener: Listener) -> None:
        """Removes a listener."""
        name = listener.who.user
        self._listeners.get(name, set()).discard(listener)
        if not self._listeners.get(name):
            self._listeners.pop(name, None)


class Listener:
    """One stream of changes. The hub can close it like any connection."""

    conversation_id = None

    def __init__(self, who: Who) -> None:
        self.who = who
        self.gone = asyncio.Event()
        self.is_over = False
        self.changed: set[str] = set()  # conversations that the user may see
        self.news = asyncio.Event()

    def tick(self) -> None:
        """Does nothing: the stream sends its own heartbeats."""

    def close(self, code: int, error: Refused | None = None) -> None:
        """Ends the stream.

        If the user has lost access, the next request is refused with the reason.
        """
        self.is_over = True
        self.news.set()


async def changes(service: Service, request: Request, who: Who) -> Response:
    """GET /api/changes: server-sent events, each a list of conversations that have changed."""
    held = ExitStack()
    seat = held.enter_context(service.hub.place(who))
    held.enter_context(service.shares.of(who).stream())
    return _Stream(service, Listener(who), held, seat)


class _Stream(StreamingResponse):
    """The response with the events of a listener. Holds a place in the hub until it ends."""

    def __init__(self, service: Service, listener: Listener, held: ExitStack, seat: Seat) -> None:
        headers = {**SAFE_HEADERS, "X-Accel-Buffering": "no"}
        super().__init__(_told(service, listener), 200, headers, "text/event-stream")
        self._service = service
        self._listener = listener
        self._held = held
        self._seat = seat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, listener = self._service, self._listener
        with self._held:
            service.hub.add(listener, self._seat)
            service.news.add(listener)
            try:
                await super().__call__(scope, receive, send)
            finally:
                service.news.remove(listener)
                service.hub.remove(listener)
                listener.gone.set()


async def _told(service: Service, listener: Listener) -> AsyncIterator[bytes]:
    clock = asyncio.get_running_loop()
    until = clock.time() + _LASTS
    # A client that reconnects may have missed changes, so the first event means all conversations.
    yield b'retry: 1000\ndata: {"conversations":null}\n\n'
    while not listener.is_over and (left := until - clock.time()) > 0:
        heard = False
        with suppress(TimeoutError):
            async with asyncio.timeout(min(left, service.settings.heartbeat_seconds)):
                await listener.news.wait()
                heard = True
        if not heard:
            yield b": still here\n\n"
            continue
        await asyncio.sleep(_TOGETHER)
        if listener.is_over:
            return
        listener.news.clear()
        changed, listener.changed = listener.changed, set()
        if changed:
            yield b"data: " + msgspec.json.encode({"conversations": sorted(changed)}) + b"\n\n"
