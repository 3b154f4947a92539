"""What one connection is sent: numbered, in order, and never more than a client can take."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Protocol, TypeAlias

from turnwire.engine.channel import Sent, Subscriber

__all__ = ["Gone", "Outlet", "Send", "Wire"]

Send: TypeAlias = Callable[[dict[str, Any]], Coroutine[Any, Any, None]]


class Wire(Protocol):
    """What our own server knows of a WebSocket besides ASGI; another one may not."""

    def is_open(self) -> bool:
        """Whether a frame can be written now, without waiting."""

    def write(self, frame: bytes) -> None:
        """Write one, as a text message."""

    def abort(self) -> None:
        """End it at once, whatever waits to be sent."""

    def when_silent(self, tell: Callable[[], None]) -> None:
        """Call this when nothing has been heard for too long."""


class Gone(Exception):
    """The client takes no more frames."""


class Outlet(Subscriber):
    """Follows a conversation for one client.

    Whoever publishes writes to the socket right away, without waking a task for each client: that is
    most of what a frame costs. Only if the socket would make it wait do frames wait here, and a task
    sends them when it can. Too many bytes: the client is cut off, and comes again.
    """

    def __init__(
        self,
        send: Send,
        wire: Wire | None = None,
        *,
        size: int,
        slow: Callable[[], None],
        ended: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        super().__init__(_nothing, frames=0, size=size)
        self.sent_at = now()
        self._send = send
        self._wire = wire
        self._slow = slow
        self._ended = ended
        self._now = now
        self._sequence = 0
        self._held = True  # until the first frames are sent, the others wait
        self._pump: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be sent."""
        return not self._held and self._pump is None

    # --- what the conversation tells --------------------------------------------------------------

    def receive(self, together: list[Sent]) -> None:
        """Send it, or keep it for later. Never waits."""
        if self.overrun:
            return
        if self._held or self._pump is not None:
            if self._size > self._most_bytes:
                self.overrun = True
                self._drop()
                self._slow()
                return
            self._waiting += together
            self._size += sum(sent.size for sent in together)
            return
        for number, sent in enumerate(together):
            if not self._send_now(sent):
                self._waiting += together[number + 1 :]
                self._size += sum(sent.size for sent in self._waiting)
                return

    def put(self, sent: Sent) -> None:
        """For this client alone."""
        self.receive([sent])

    def cut_off(self) -> None:
        """Nothing more comes from this conversation here."""
        if not self.overrun:
            self.overrun = True
            self._drop()
            self._ended()

    # --- the socket -------------------------------------------------------------------------------

    async def send_first(self, sent: Sent) -> None:
        """One of the first frames. Waits for the client to take it. Raises Gone."""
        if self.overrun:
            raise Gone
        await self._send_one(sent)

    async def release(self) -> None:
        """The first frames are sent: whatever came meanwhile follows, and then all else."""
        await self._send_waiting()
        self._held = False

    async def finish(self, last: Sent | None) -> None:
        """Send what waits, then this, and then nothing more. Raises Gone."""
        self.overrun = True
        if self._held:
            self._drop()  # it would come before the first frames
        if self._pump is not None:
            await asyncio.wait([self._pump])
        if last is not None:
            await self._send_one(last)

    def stop(self) -> None:
        """Send nothing more."""
        self.overrun = True
        self._drop()
        if self._pump is not None:
            self._pump.cancel()

    async def _send_one(self, sent: Sent) -> None:
        try:
            await self._send(self._numbered(sent))
        except Exception as error:  # each server has its own for a client that has gone
            raise Gone from error

    def _numbered(self, sent: Sent) -> dict[str, Any]:
        self._sequence += 1
        self.sent_at = self._now()
        return {"type": "websocket.send", "text": sent.encoded.at(self._sequence).decode()}

    def _send_now(self, sent: Sent) -> bool:
        """False: it has to wait, and what follows with it.

        A send that need not wait is over after its first step. So it costs no task. Our own server
        need not even be asked in the words of ASGI.
        """
        if self._wire is not None and self._wire.is_open():
            self._sequence += 1
            self.sent_at = self._now()
            self._wire.write(sent.encoded.at(self._sequence))
            return True
        sending = self._send(self._numbered(sent))
        try:
            awaited = sending.send(None)
        except StopIteration:
            return True
        except Exception:  # the client has gone; whoever reads from it will see that
            self.stop()
            return False
        self._pump = asyncio.create_task(self._send_later(_Begun(sending, awaited)))
        return False

    async def _send_later(self, begun: Awaitable[None]) -> None:
        try:
            await begun
            await self._send_waiting()
        except Exception:  # as above
            self.overrun = True
            self._drop()
        finally:
            self._pump = None

    async def _send_waiting(self) -> None:
        while (sent := self.take()) is not None:
            await self._send_one(sent)

    def _drop(self) -> None:
        self._waiting: deque[Sent] = deque()
        self._size = 0


class _Begun:
    """A coroutine that was begun by hand, and waits for something: a task can await the rest."""

    def __init__(self, work: Coroutine[Any, Any, None], awaited: Any) -> None:
        self._work = work
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, None]:
        awaited = self._awaited
        try:
            while True:
                try:
                    said = yield awaited
                except BaseException as error:
                    awaited = self._work.throw(error)
                else:
                    awaited = self._work.send(said)
        except StopIteration:
            return


def _nothing() -> None:
    pass
