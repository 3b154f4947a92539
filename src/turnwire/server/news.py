"""Which conversations have changed: for lists, and for the inbox, that look again only then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from turnwire.bus.local import LocalBus
from turnwire.core.error_codes import Refused
from turnwire.server.answers import SAFE_HEADERS
from turnwire.server.keys import Who

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["Listener", "News", "changes"]

_TOGETHER = 0.05  # seconds: what happens within them is told at once
_LASTS = 300.0  # seconds, then whoever listens has to show again who they are


class News:
    """A bus that also tells which conversation a message was about, to those who want all."""

    def __init__(self) -> None:
        self._bus = LocalBus()
        self._listeners: set[Listener] = set()

    def publish(self, conversation_id: str, message: Any) -> None:
        """To everyone who subscribes to this conversation now, and to those who want all."""
        self._bus.publish(conversation_id, message)
        self.tell(conversation_id)

    def subscribe(self, conversation_id: str, receive: Callable[[Any], None]) -> Callable[[], None]:
        """From now on; returns what ends it."""
        return self._bus.subscribe(conversation_id, receive)

    def tell(self, conversation_id: str) -> None:
        """This one has changed."""
        for listener in self._listeners:
            listener.changed.add(conversation_id)
            listener.news.set()

    def tell_deleted(self, conversation_id: str, user: str | None) -> None:
        """This one is gone. Whose it was is known only now."""
        for listener in self._listeners:
            if listener.who.may_see(user):
                listener.deleted.add(conversation_id)
                listener.news.set()

    def add(self, listener: Listener) -> None:
        """They hear of all of them, until they are removed."""
        self._listeners.add(listener)

    def remove(self, listener: Listener) -> None:
        """They have gone."""
        self._listeners.discard(listener)


class Listener:
    """Somebody who is told; like everyone who is connected, they may have to go."""

    conversation_id = None

    def __init__(self, who: Who) -> None:
        self.who = who
        self.gone = asyncio.Event()
        self.is_over = False
        self.changed: set[str] = set()
        self.deleted: set[str] = set()  # of those that they could see
        self.news = asyncio.Event()

    def tick(self) -> None:
        """Signs of life have a rhythm of their own here."""

    def close(self, code: int, error: Refused | None = None) -> None:
        """The stream ends; who comes again is told why they are not let in."""
        self.is_over = True
        self.news.set()


async def changes(service: Service, request: Request, who: Who) -> Response:
    """GET /api/changes: server-sent events, each a list of conversations that have changed."""
    held = ExitStack()
    held.enter_context(service.hub.place(who))
    return _Stream(service, Listener(who), held)


class _Stream(StreamingResponse):
    """What a listener is told. They have a place among all who are connected, from the first moment."""

    def __init__(self, service: Service, listener: Listener, held: ExitStack) -> None:
        headers = {**SAFE_HEADERS, "X-Accel-Buffering": "no"}
        super().__init__(_told(service, listener), 200, headers, "text/event-stream")
        self._service = service
        self._listener = listener
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        service, listener = self._service, self._listener
        with self._held:
            service.hub.add(listener)
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
    # Who comes back may have missed something: the first event is about everything.
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
        seen, listener.deleted = listener.deleted, set()
        seen |= {each for each in changed if await _may_see(service, listener.who, each)}
        if seen:
            yield b"data: " + msgspec.json.encode({"conversations": sorted(seen)}) + b"\n\n"


async def _may_see(service: Service, who: Who, conversation_id: str) -> bool:
    """Of one that is gone nobody knows any more whose it was: see `tell_deleted`."""
    if who.user is None:
        return True
    row = await service.store.conversation(conversation_id)
    return row is not None and who.may_see(row.user)
