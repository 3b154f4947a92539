"""Sends the messages of a conversation as the body of an HTTP response: in order, and bounded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from turnwire.core.error_codes import Refused
from turnwire.server.sockets.backlog import Outgoing
from turnwire.server.sockets.outlet import Gone, Outlet, Send

__all__ = ["BODY", "Body", "Comment", "EventWriter", "SseOutlet"]

BODY = "turnwire.body"  # the extension of our own server; see `tcp.response_body`


class Body(Protocol):
    """The body of a response, which our own server lets be written without waiting."""

    def is_open(self) -> bool:
        """Returns whether bytes can be written now, without waiting."""

    def write(self, data: bytes | memoryview) -> None:
        """Writes bytes."""


class EventWriter(Protocol):
    """Makes the events of one response, and knows where the response ends."""

    @property
    def is_over(self) -> bool:
        """Returns whether the last event was made. Later messages are not sent."""

    def events(self, sent: Any, sequence: int) -> Iterable[bytes | memoryview]:
        """Returns the bytes of a message, which may be none.

        `sequence` counts the messages of this response from 1. Raises Refused if the response has
        to end with an error.
        """

    def error(self, refused: Refused) -> Outgoing | None:
        """Returns the message that says why the response ends early, or None."""


class Comment:
    """A line that readers of events ignore. It keeps a connection open that has nothing to send."""

    number = None
    is_large = False

    def __init__(self, text: str) -> None:
        self.holders = 0
        self._raw = f": {text}\n\n".encode()

    @property
    def size(self) -> int:
        """Returns its size in bytes."""
        return len(self._raw)

    @property
    def shared(self) -> Comment:
        """Returns itself: no other client waits for it."""
        return self

    def at(self, sequence: int) -> bytes:
        """Returns its bytes. It has no number."""
        return self._raw

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """Returns its bytes, in one piece."""
        return [self._raw]


class SseOutlet(Outlet):
    """Follows a conversation for one HTTP response. Buffers are bounded as on a WebSocket."""

    def __init__(
        self,
        send: Send,
        writer: EventWriter,
        whole: Callable[[], None],
        body: Body | None,
        **limits: Any,
    ) -> None:
        """`whole` is called after the last event was sent. `limits` are those of `Outlet`.

        `body` is None if another server than our own runs the application.
        """
        super().__init__(send, None, **limits)
        self._writer = writer
        self._whole = whole
        self._body = body

    def receive(self, together: Sequence[Outgoing]) -> None:
        """Sends events, or keeps their messages until the client reads. Never waits."""
        body = self._body
        is_busy = self._held or self._pump is not None or self._rest is not None
        if body is None or is_busy or self._over:
            super().receive(together)
            return
        for number, sent in enumerate(together):
            if self._over:
                return
            if body.is_open() and self._write_now(sent, body):
                continue
            # The client reads slowly, or the message is large: a task sends the rest.
            self._keep(together[number + (self._rest is not None) :])
            self._pump = asyncio.create_task(self._send_later(None))
            return

    def _write_now(self, sent: Outgoing, body: Body) -> bool:
        """Writes the events of a message. Returns False if some of their bytes have to wait."""
        try:
            first, *rest = self._pieces_of(sent) or [b""]
        except Gone:
            return True
        if first:
            body.write(first)
        if rest:
            self._rest = deque(rest)
            return False
        self._check_end()
        return True

    async def _send_one(self, sent: Outgoing) -> None:
        if self._writer.is_over:
            raise Gone
        for piece in self._pieces_of(sent):
            await self._write(piece)
        self._check_end()

    async def _send_waiting(self) -> None:
        while self._rest:
            await self._write(self._rest.popleft())
        if self._rest is not None:
            self._rest = None
            self._check_end()
        await super()._send_waiting()

    def _pieces_of(self, sent: Outgoing) -> list[bytes | memoryview]:
        """Returns the bytes of a message. Raises Gone if the response has to end instead."""
        if isinstance(sent, Comment):
            self.sent_at = self._now()
            return [sent.at(0)]
        self._count(sent)
        try:
            return list(self._writer.events(sent, self._sequence))
        except Refused as refused:
            why = refused  # the name of an `except` is deleted at its end
            self.finish(lambda: why)
            raise Gone from refused

    def _check_end(self) -> None:
        if self._writer.is_over and not self._over:
            self._over = True
            self._whole()

    async def _write(self, piece: bytes | memoryview) -> None:
        try:
            await self._send(
                {"type": "http.response.body", "body": bytes(piece), "more_body": True}
            )
        except Exception as error:  # each ASGI server has its own error for a client that has left
            raise Gone from error
