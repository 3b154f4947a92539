"""What one connection is sent: numbered, in order, and never more than a client can take."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from turnwire.engine.fanout.channel import SlowReader, Subscriber
from turnwire.errors import TurnwireError
from turnwire.server.sockets.backlog import Backlog, Outgoing

__all__ = ["Gone", "Outlet", "Send", "Wire"]

Send: TypeAlias = Callable[[dict[str, Any]], Coroutine[Any, Any, None]]


class Wire(Protocol):
    """What our own server knows of a WebSocket besides ASGI; another one may not."""

    def is_open(self) -> bool:
        """Whether a frame can be written now, without waiting."""

    def hold_at_most(self, size: int) -> None:
        """Let about so many bytes wait in the socket."""

    def write(self, frame: bytes) -> None:
        """Write one, as a text message."""

    def write_piece(self, piece: bytes | memoryview, *, is_first: bool, is_last: bool) -> None:
        """Write a part of a text message."""

    async def until_open(self) -> None:
        """Wait until a frame can be written. Raises ConnectionError if the client has gone."""

    async def goodbye(self, code: int) -> None:
        """Write the close frame, also to a client that does not read."""

    def abort(self) -> None:
        """End it at once, whatever waits to be sent."""

    def when_silent(self, tell: Callable[[], None]) -> None:
        """Call this when nothing has been heard for too long."""

    async def until_gone(self) -> None:
        """Wait until nothing of it is left."""


class Gone(Exception):
    """The client takes no more frames."""


class Outlet(Subscriber):
    """Follows a conversation for one client.

    Whoever publishes writes to the socket right away, without waking a task for each client: that is
    most of what a frame costs. Only if the socket would make it wait do frames wait here, and a task
    sends them when it can. Too many bytes: the client is cut off, and comes again.

    A large frame is written in pieces, each when the client has taken the one before. The bytes are
    those that all clients share, so that a slow one holds no copy of them.
    """

    def __init__(
        self,
        send: Send,
        wire: Wire | None = None,
        *,
        size: int,
        ended: Callable[[TurnwireError], None],
        now: Callable[[], float],
        backlog: Backlog,
        is_held: bool = True,
    ) -> None:
        """`is_held`: until `release` nothing is sent but the first frames."""
        super().__init__(_nothing, frames=0, size=size)
        self._backlog = backlog
        self._begun: Outgoing | None = None  # the frame that is being sent; it still counts
        self.sent_at = now()
        self.reached = 0  # the newest entry that was sent
        self._send = send
        self._wire = wire
        self._ended = ended
        self._now = now
        self._sequence = 0
        self._over = False  # nothing more is sent
        self._is_cut = False  # because the client reads too slowly
        # Of a large frame that is being sent: nothing may come between its pieces.
        self._rest: deque[bytes | memoryview] | None = None
        self._held = is_held  # until the first frames are sent, the others wait
        self._pump: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be sent."""
        return not self._held and self._pump is None

    @property
    def waiting_bytes(self) -> int:
        """Bytes that wait for this client, besides those that its socket holds."""
        return self._size + (self._begun.size if self._begun is not None else 0)

    def is_stalled(self, since: float) -> bool:
        """Whether more waits than may, and the client has taken nothing since then."""
        return self.waiting_bytes > self._most_bytes and self.sent_at < since

    # --- what the conversation tells --------------------------------------------------------------

    def receive(self, together: Sequence[Outgoing]) -> None:
        """Send it, or keep it for later. Never waits."""
        if self._over:
            return
        if self._held or self._pump is not None or self._rest is not None:
            if self._size > self._most_bytes:
                self.cut_off()
            else:
                self._keep(together)
            return
        wire = self._wire
        if wire is None:  # ASGI can only be awaited
            self._keep(together)
            self._pump = asyncio.create_task(self._send_later(None))
            return
        for number, sent in enumerate(together):  # our own server need not be asked by ASGI
            if wire.is_open():
                if not sent.is_large:
                    wire.write(self._numbered(sent))
                    continue
                if self._write_pieces(sent, wire):
                    continue
            self._pump = asyncio.create_task(self._send_later(sent))
            self._keep(together[number + 1 :])
            return

    def _keep(self, together: Sequence[Outgoing]) -> None:
        """Let frames wait."""
        for sent in together:
            self._waiting.append(sent)
            self._size += sent.size
            self._backlog.hold(self, sent)
        self._backlog.check()

    def take(self) -> Outgoing | None:
        """The next that waits."""
        sent: Outgoing | None = super().take()
        if sent is not None:
            self._backlog.let_go(sent)
        return sent

    def begin(self) -> None:
        """From this moment on: what came before is in the state, or is not sent any more."""
        for sent in self._waiting:
            self._backlog.let_go(sent)
        super().begin()

    def cut_off(self) -> None:
        """Drop what waits: the client reads too slowly, and gets it when it comes again."""
        self._is_cut = True
        self.begin()
        self.finish(partial(SlowReader, "You read too slowly; come again from your place."))

    def put(self, sent: Outgoing) -> None:
        """For this client alone."""
        self.receive([sent])

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Nothing more comes from this conversation here; what waits is still sent."""
        if not self._over:
            self._over = True
            self._ended(why())

    # --- the socket -------------------------------------------------------------------------------

    async def send_first(self, sent: Outgoing) -> None:
        """One of the first frames. Waits for the client to take it. Raises Gone."""
        if self._over:
            raise Gone
        while self._pump is not None:  # nothing may come between the pieces of a large frame
            await asyncio.wait([self._pump])
        await self._send_one(sent)
        if not self._held:
            await self._send_waiting()

    async def release(self) -> None:
        """The first frames are sent: whatever came meanwhile follows, and then all else."""
        await self._send_waiting()
        self._held = False

    async def send_last(self, last: Outgoing | None) -> None:
        """Send what waits, then this, and then nothing more. Raises Gone."""
        self._over = True
        if self._held:
            self.begin()  # it would come before the first frames
        if self._pump is not None:
            await asyncio.wait([self._pump])
        if last is not None and self._rest is None:
            await self._send_one(last)

    def stop(self) -> None:
        """Send nothing more."""
        self._over = True
        self.begin()
        self._backlog.forget(self)
        if self._pump is not None:
            self._pump.cancel()

    async def _send_one(self, sent: Outgoing) -> None:
        wire = self._wire
        try:
            if wire is None:
                await self._send(self._message(sent))
            elif sent.is_large:
                await self._send_pieces(sent, wire)
            else:
                if not wire.is_open():
                    await self._wait_with(sent, wire)
                wire.write(self._numbered(sent))
        except Exception as error:  # each server has its own for a client that has gone
            raise Gone from error

    async def _send_pieces(self, sent: Outgoing, wire: Wire) -> None:
        while not self._write_pieces(sent, wire):
            await self._wait_with(sent, wire)

    def _write_pieces(self, sent: Outgoing, wire: Wire) -> bool:
        """Write the pieces of a large frame that the socket takes now; false: some are left."""
        is_first = self._rest is None
        rest = self._rest if self._rest is not None else deque(sent.pieces(self._sequence + 1))
        while rest and wire.is_open():
            piece = rest.popleft()
            wire.write_piece(piece, is_first=is_first, is_last=not rest)
            is_first = False
            self._rest = rest
            self.sent_at = self._now()
        if rest:
            return False
        self._rest = None
        self._count(sent)
        return True

    async def _wait_with(self, sent: Outgoing, wire: Wire) -> None:
        """Wait until the client takes more. The frame that it waits for counts as waiting."""
        self._begun = sent
        self._backlog.hold(self, sent)
        try:
            self._backlog.check()
            if self._is_cut:
                raise Gone
            await wire.until_open()
        finally:
            self._begun = None
            self._backlog.let_go(sent)

    def _message(self, sent: Outgoing) -> dict[str, Any]:
        return {"type": "websocket.send", "text": self._numbered(sent).decode()}

    def _numbered(self, sent: Outgoing) -> bytes:
        self._count(sent)
        return sent.at(self._sequence)

    def _count(self, sent: Outgoing) -> None:
        self._sequence += 1
        if sent.number is not None:
            self.reached = sent.number
        self.sent_at = self._now()

    async def _send_later(self, first: Outgoing | None) -> None:
        try:
            if first is not None:
                await self._send_one(first)
            await self._send_waiting()
        except Exception:  # the client has gone; the reader of its socket will see that
            self._over = True
            self.begin()
        finally:
            self._pump = None
            if not self._waiting:
                self._backlog.forget(self)

    async def _send_waiting(self) -> None:
        while (sent := self.take()) is not None:
            await self._send_one(sent)


def _nothing() -> None:
    pass
