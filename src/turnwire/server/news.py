"""Which conversations have changed: for lists, and for the inbox, that look again only then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from turnwire.bus.local import LocalBus
from turnwire.server.answers import SAFE_HEADERS
from turnwire.server.keys import Who

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["News", "changes"]

_TOGETHER = 0.05  # seconds: what happens within them is told at once
_LASTS = 300.0  # seconds, then whoever listens has to show again who they are


class News:
    """A bus that also tells which conversation a message was about, to those who want all."""

    def __init__(self) -> None:
        self._bus = LocalBus()
        self._listeners: set[_Listener] = set()
        self.is_over = False

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

    def listen(self) -> _Listener:
        """To all of them, until `forget`."""
        listener = _Listener()
        self._listeners.add(listener)
        return listener

    def forget(self, listener: _Listener) -> None:
        """They have gone."""
        self._listeners.discard(listener)

    def close(self) -> None:
        """The server stops: nobody waits any longer."""
        self.is_over = True
        for listener in self._listeners:
            listener.news.set()


class _Listener:
    def __init__(self) -> None:
        self.changed: set[str] = set()
        self.news = asyncio.Event()


async def changes(service: Service, request: Request, who: Who) -> Response:
    """GET /api/changes: server-sent events, each a list of conversations that have changed."""
    headers = {**SAFE_HEADERS, "X-Accel-Buffering": "no"}
    return StreamingResponse(_told(service, who), 200, headers, "text/event-stream")


async def _told(service: Service, who: Who) -> AsyncIterator[bytes]:
    news = service.news
    listener = news.listen()
    clock = asyncio.get_running_loop()
    until = clock.time() + _LASTS
    try:
        # Who comes back may have missed something: the first event is about everything.
        yield b'retry: 1000\ndata: {"conversations":null}\n\n'
        while not news.is_over and (left := until - clock.time()) > 0:
            heard = False
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left, service.settings.heartbeat_seconds)):
                    await listener.news.wait()
                    heard = True
            if not heard:
                yield b": still here\n\n"
                continue
            if not news.is_over:
                await asyncio.sleep(_TOGETHER)
            listener.news.clear()
            changed, listener.changed = listener.changed, set()
            if seen := [each for each in sorted(changed) if await _may_see(service, who, each)]:
                yield b"data: " + msgspec.json.encode({"conversations": seen}) + b"\n\n"
    finally:
        news.forget(listener)


async def _may_see(service: Service, who: Who, conversation_id: str) -> bool:
    """Of one that is gone only the owner hears: nobody knows any more whose it was."""
    if who.user is None:
        return True
    row = await service.store.conversation(conversation_id)
    return row is not None and who.may_see(row.user)
