"""Sends frames to one client: numbered, in order, and with bounded buffers."""

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
    """The functions of a WebSocket that our own server offers in addition to ASGI."""

    def is_open(self) -> bool:
        """Returns whether a frame can be written now, without waiting."""

    def hold_at_most(self, size: int) -> None:
        """Sets about how many bytes may wait in the socket."""

    def write(self, frame: bytes) -> None:
        """Writes a frame, as a text message."""

    def write_piece(self, piece: bytes | memoryview, *, is_first: bool, is_last: bool) -> None:
        """Writes a part of a text message."""

    async def until_open(self) -> None:
        """Waits until a frame can be written. Raises ConnectionError if the client has left."""

    async def goodbye(self, code: int) -> None:
        """Writes the close frame, also to a client that does not read."""

    def abort(self) -> None:
        """Ends the connection at once, and drops the bytes that wait."""

    def when_silent(self, tell: Callable[[], None]) -> None:
        """Sets the function that is called when the client has been silent for too long."""

    async def until_gone(self) -> None:
        """Waits until the TCP connection is closed."""


class Gone(Exception):
    """The client takes no more frames."""


class Outlet(Subscriber):
    """Follows a conversation for one client.

    The publisher writes to the socket directly, without waking a task for each client, because
    waking tasks is most of the cost of a frame. If the socket is full, frames wait in the outlet,
    and a task sends them later. If too many bytes wait, the client is disconnected, and has to
    reconnect.

    A large frame is written in pieces, each after the client has read the one before. All clients
    share the bytes of the frame, so that a slow client holds no copy of them.
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
        """`is_held`: only the frames of `send_first` are sent until `release` is called."""
        super().__init__(_nothing, frames=0, size=size)
        self._backlog = backlog
        self._begun: Outgoing | None = None  # the frame that is being sent; it counts as waiting
        self.sent_at = now()
        self.reached = 0  # the newest entry that was sent
        self._send = send
        self._wire = wire
        self._ended = ended
        self._now = now
        self._sequence = 0
        self._over = False  # no further frame is accepted
        self._is_cut = False  # the client reads too slowly
        # The rest of a large frame that is being sent. No other frame may come between its pieces.
        self._rest: deque[bytes | memoryview] | None = None
        self._held = is_held  # the first frames are not sent yet, so the others wait
        self._pump: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Returns whether no frame waits to be sent."""
        return not self._held and self._pump is None

    @property
    def waiting_bytes(self) -> int:
        """Returns the bytes that wait for this client, without those in its socket."""
        return self._size + (self._begun.size if self._begun is not None else 0)

    def is_stalled(self, since: float) -> bool:
        """Returns whether too many bytes wait, and the client has read nothing since that time."""
        return self.waiting_bytes > self._most_bytes and self.sent_at < since

    # --- frames of the conversation ---------------------------------------------------------------

    def receive(self, together: Sequence[Outgoing]) -> None:
        """Sends frames, or keeps them until the socket is free. Never waits."""
        if self._over:
            return
        if self._held or self._pump is not None or self._rest is not None:
            if self._size > self._most_bytes:
                self.cut_off()
            else:
                self._keep(together)
            return
        wire = self._wire
        if wire is None:  # ASGI's send has to be awaited, in a task
            self._keep(together)
            self._pump = asyncio.create_task(self._send_later(None))
            return
        for number, sent in enumerate(together):
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
        """Appends frames to the buffer."""
        for sent in together:
            self._waiting.append(sent)
            self._size += sent.size
            self._backlog.hold(self, sent)
        self._backlog.check()

    def take(self) -> Outgoing | None:
        """Removes and returns the next frame that waits, or None."""
        sent: Outgoing | None = super().take()
        if sent is not None:
            self._backlog.let_go(sent)
        return sent

    def begin(self) -> None:
        """Drops the frames that wait: a new state contains them, or the connection ends."""
        for sent in self._waiting:
            self._backlog.let_go(sent)
        super().begin()

    def cut_off(self) -> None:
        """Drops the frames that wait, and ends the connection of a slow reader.

        The client gets the frames when it reconnects.
        """
        self._is_cut = True
        self.begin()
        self.finish(partial(SlowReader, "You read too slowly; reconnect from your last sequence."))

    def put(self, sent: Outgoing) -> None:
        """Sends a frame for this client only."""
        self.receive([sent])

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Accepts no further frames from the conversation. Frames that wait are still sent."""
        if not self._over:
            self._over = True
            self._ended(why())

    # --- the socket -------------------------------------------------------------------------------

    async def send_first(self, sent: Outgoing) -> None:
        """Sends one of the first frames. Waits until the client reads it. Raises Gone."""
        if self._over:
            raise Gone
        while self._pump is not None:  # no frame may come between the pieces of a large one
            await asyncio.wait([self._pump])
        await self._send_one(sent)
        if not self._held:
            await self._send_waiting()

    async def release(self) -> None:
        """Sends the frames that came during the first ones.

        From now on frames are sent directly.
        """
        await self._send_waiting()
        self._held = False

    async def send_last(self, last: Outgoing | None) -> None:
        """Sends the frames that wait, then the last frame. Accepts no others. Raises Gone."""
        self._over = True
        if self._held:
            self.begin()  # these frames would come before the first ones
        if self._pump is not None:
            await asyncio.wait([self._pump])
        if last is not None and self._rest is None:
            await self._send_one(last)

    def stop(self) -> None:
        """Drops the frames that wait, and sends no more."""
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
        except Exception as error:  # each ASGI server has its own error for a client that has left
            raise Gone from error

    async def _send_pieces(self, sent: Outgoing, wire: Wire) -> None:
        while not self._write_pieces(sent, wire):
            await self._wait_with(sent, wire)

    def _write_pieces(self, sent: Outgoing, wire: Wire) -> bool:
        """Writes as many pieces of a large frame as the socket takes.

        Returns whether all are written.
        """
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
        """Waits until the client reads more. The frame counts as waiting meanwhile."""
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
        except Exception:  # the client has left; the read loop of its socket notices it
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
