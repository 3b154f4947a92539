"""Sends the messages of a conversation as the body of an HTTP response: in order, and bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from turnwire.core.error_codes import Refused
from turnwire.server.sockets.backlog import Outgoing
from turnwire.server.sockets.outlet import Gone, Outlet, Send

__all__ = ["Comment", "EventWriter", "SseOutlet"]


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
        self, send: Send, writer: EventWriter, whole: Callable[[], None], **limits: Any
    ) -> None:
        """`whole` is called after the last event was sent. `limits` are those of `Outlet`."""
        super().__init__(send, None, **limits)
        self._writer = writer
        self._whole = whole

    async def _send_one(self, sent: Outgoing) -> None:
        if self._writer.is_over:
            raise Gone
        if isinstance(sent, Comment):
            self.sent_at = self._now()
            await self._write(sent.at(0))
            return
        self._count(sent)
        try:
            pieces = self._writer.events(sent, self._sequence)
        except Refused as refused:
            why = refused  # the name of an `except` is deleted at its end
            self.finish(lambda: why)
            raise Gone from refused
        for piece in pieces:
            await self._write(piece)
        if self._writer.is_over:
            self._over = True
            self._whole()

    async def _write(self, piece: bytes | memoryview) -> None:
        try:
            await self._send(
                {"type": "http.response.body", "body": bytes(piece), "more_body": True}
            )
        except Exception as error:  # each ASGI server has its own error for a client that has left
            raise Gone from error
