"""What one connection is sent: numbered, in order, and never more than a client can take."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from typing import Any, Protocol, TypeAlias

from turnwire.engine.channel import Sent, SlowReader, Subscriber
from turnwire.errors import TurnwireError

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

    async def until_gone(self) -> None:
        """Wait until nothing of it is left."""


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
        ended: Callable[[TurnwireError], None],
        now: Callable[[], float],
    ) -> None:
        super().__init__(_nothing, frames=0, size=size)
        self.sent_at = now()
        self.reached = 0  # the newest entry that was sent
        self._send = send
        self._wire = wire
        self._ended = ended
        self._now = now
        self._sequence = 0
        self._over = False  # nothing more is sent
        self._held = True  # until the first frames are sent, the others wait
        self._pump: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be sent."""
        return not self._held and self._pump is None

    # --- what the conversation tells --------------------------------------------------------------

    def receive(self, together: list[Sent]) -> None:
        """Send it, or keep it for later. Never waits."""
        if self._over:
            return
        if self._held or self._pump is not None:
            if self._size > self._most_bytes:
                self.begin()
                self.finish(partial(SlowReader, "You read too slowly; come again from your place."))
                return
            self._waiting += together
            self._size += sum(sent.size for sent in together)
            return
        wire = self._wire
        for number, sent in enumerate(together):
            if wire is not None and wire.is_open():  # our own server need not be asked by ASGI
                wire.write(self._numbered(sent))
            elif not self._send_now(sent):
                self._waiting += together[number + 1 :]
                self._size += sum(sent.size for sent in self._waiting)
                return

    def put(self, sent: Sent) -> None:
        """For this client alone."""
        self.receive([sent])

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Nothing more comes from this conversation here; what waits is still sent."""
        if not self._over:
            self._over = True
            self._ended(why())

    # --- the socket -------------------------------------------------------------------------------

    async def send_first(self, sent: Sent) -> None:
        """One of the first frames. Waits for the client to take it. Raises Gone."""
        if self._over:
            raise Gone
        await self._send_one(sent)

    async def release(self) -> None:
        """The first frames are sent: whatever came meanwhile follows, and then all else."""
        await self._send_waiting()
        self._held = False

    async def send_last(self, last: Sent | None) -> None:
        """Send what waits, then this, and then nothing more. Raises Gone."""
        self._over = True
        if self._held:
            self.begin()  # it would come before the first frames
        if self._pump is not None:
            await asyncio.wait([self._pump])
        if last is not None:
            await self._send_one(last)

    def stop(self) -> None:
        """Send nothing more."""
        self._over = True
        self.begin()
        if self._pump is not None:
            self._pump.cancel()

    async def _send_one(self, sent: Sent) -> None:
        try:
            await self._send(self._message(sent))
        except Exception as error:  # each server has its own for a client that has gone
            raise Gone from error

    def _message(self, sent: Sent) -> dict[str, Any]:
        return {"type": "websocket.send", "text": self._numbered(sent).decode()}

    def _numbered(self, sent: Sent) -> bytes:
        self._sequence += 1
        if sent.number is not None:
            self.reached = sent.number
        self.sent_at = self._now()
        return sent.at(self._sequence)

    def _send_now(self, sent: Sent) -> bool:
        """False: it has to wait, and what follows with it.

        A send that need not wait is over after its first step. So it costs no task.
        """
        sending = self._send(self._message(sent))
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
            self._over = True
            self.begin()
        finally:
            self._pump = None

    async def _send_waiting(self) -> None:
        while (sent := self.take()) is not None:
            await self._send_one(sent)


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
