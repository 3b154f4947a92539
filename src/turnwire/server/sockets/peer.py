"""One client on its WebSocket, whatever it speaks: its limits, signs of life, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from turnwire.background import BackgroundTasks
from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.dialects.v2.close_codes import CLOSES_WITH
from turnwire.engine.fanout.channel import FollowAgain, SlowReader
from turnwire.errors import TurnwireError
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import Bucket, check_shape
from turnwire.server.api.problems import refusal_of
from turnwire.server.sockets.backlog import Outgoing
from turnwire.server.sockets.frame_id import id_in
from turnwire.server.sockets.outlet import Outlet, Send, Wire

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["Client"]

_log = logging.getLogger("turnwire")

_PATIENCE = 2.0  # seconds that a client has to take the last frames
_STALLED = 20.0  # seconds in which a client for whom much waits has to take something
_MANY_FRAMES = "Too many frames in a short time (frames_per_second, frames_at_once)."
_TOO_OFTEN = 20  # frames in a row that make no sense, or come too fast, until the client has to go

_decode = msgspec.json.Decoder().decode


class Client:
    """From the first frame to the last. Whoever speaks a language says here what its words are."""

    conversation_id: str | None = None
    id_name: str  # how the id of a frame is called
    follows_at_once = True  # `open` sends the first frames of a conversation

    def __init__(
        self,
        service: Service,
        who: Who,
        send: Send,
        wire: Wire | None,
    ) -> None:
        self.who = who
        self.connection_id = service.engine.new_id()
        self.gone = asyncio.Event()  # it is over, and nothing of it is left
        self.code = 1006  # how it ended
        self.service = service
        self.settings = service.settings
        self._send = send
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        self._share = service.shares.of(who)
        self._bucket = (
            self._share.frames  # of all connections of this user
            if self._share.is_limited
            else Bucket(self.settings.frames_per_second, self.settings.frames_at_once)
        )
        self._nonsense = 0
        self._hasty = 0
        self._closing: asyncio.Task[None] | None = None
        self._background = BackgroundTasks()
        self.outlet = Outlet(
            send,
            wire,
            size=self.settings.buffer_bytes,
            ended=self.end,
            now=self._loop.time,
            backlog=service.backlog,
            is_held=self.follows_at_once,
        )
        if wire is not None:
            wire.hold_at_most(self.settings.buffer_bytes // 4)
            wire.when_silent(lambda: self.close(4002, Refused("HEARTBEAT_TIMEOUT")))

    # --- what a language has to say ---------------------------------------------------------------

    async def open(self) -> None:
        """What is sent before anything is read."""

    def leave(self) -> None:
        """It is over: follow nothing any more."""

    async def take(self, value: Any) -> None:
        """A frame of the client, as decoded JSON. Raises Refused if it is none."""
        raise NotImplementedError

    def error(self, refused: Refused) -> Outgoing:
        """A refusal, or the reason why it ends."""
        raise NotImplementedError

    def heartbeat(self) -> Outgoing:
        """A sign of life."""
        raise NotImplementedError

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be sent."""
        return self.outlet.is_idle

    # --- frames -----------------------------------------------------------------------------------

    async def run(self, receive: Any) -> None:
        """Everything, until the client has gone."""
        try:
            with self._share.held():
                await self._share.timed(self.open())
                await self._read(receive)
        finally:
            self._background.cancel()
            self.leave()
            self.outlet.stop()
            if self._closing is not None:
                await asyncio.gather(self._closing, return_exceptions=True)
            self.gone.set()

    async def _read(self, receive: Any) -> None:
        while True:
            message = await receive()
            self.service.watchdog.wake()
            if message["type"] == "websocket.disconnect":
                if self._closing is None:
                    self.code = message.get("code", 1005)
                return
            if self._closing is None:
                try:
                    await self._share.timed(self._take_text(message.get("text")))
                except Refused as refused:
                    self._refuse(refused)
                else:
                    self._nonsense = 0

    async def _take_text(self, text: str | None) -> None:
        await self.take(self._understand(text))

    def _understand(self, text: str | None) -> Any:
        """The JSON of a frame that is not one too many. Raises Refused."""
        wait, why = self._bucket.take(self._loop.time()), _MANY_FRAMES
        if not wait:
            wait, why = self._share.debt()
        if wait:
            self._hasty += 1
            after = round(wait + 0.05, 1)
            raise Refused("RATE_LIMITED", why, retry_after=after, **self._id_in(text))
        self._hasty = 0
        if text is None:
            raise Refused("INVALID_FORMAT", "A frame is a text message, not a binary one.")
        self._share.count_text(text)
        most = self.settings.max_frame_bytes
        if len(text) > most or len(text) * 4 > most < len(text.encode(errors="replace")):
            said = f"A frame has no more than {most} bytes (max_frame_bytes)."
            raise Refused("PAYLOAD_TOO_LARGE", said, max_frame_bytes=most, **self._id_in(text))
        fault = check_shape(text, self.settings.max_items, self.settings.max_depth)
        if fault is not None:
            raise Refused("INVALID_PAYLOAD", fault, **self._id_in(text))
        try:
            return _decode(text)
        except (ValueError, RecursionError) as error:
            said = f"The frame is not JSON: {error}"
            raise Refused("INVALID_FORMAT", said, **self._id_in(text)) from None

    def _id_in(self, text: str | None) -> dict[str, Any]:
        """Return the id of a frame that is refused unread, so that the sender knows which one it was."""
        return {self.id_name: None if text is None else id_in(text, self.id_name)}

    def _refuse(self, refused: Refused) -> None:
        self.outlet.put(self.error(refused))
        if refused.code == "INVALID_FORMAT":
            self._nonsense += 1
        if self._nonsense >= _TOO_OFTEN:
            self.close(4505)
        elif self._hasty >= self.settings.frames_at_once + _TOO_OFTEN:
            self.close(4003, Refused("RATE_LIMITED", _MANY_FRAMES, retry_after=10))

    def do_beside(self, work: Coroutine[Any, Any, None]) -> None:
        """What takes long must not keep what the client says next waiting: a stop, a heartbeat."""
        self._background.run(work)

    # --- its end ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """A second has passed: say something if nothing was said for long, or end who does not read."""
        if self.outlet.is_stalled(self._loop.time() - _STALLED):
            self.outlet.cut_off()
        silence = self._loop.time() - self.outlet.sent_at
        if silence >= self.settings.heartbeat_seconds - 1.5 and self.is_idle:
            self.outlet.put(self.heartbeat())

    def end(self, why: TurnwireError) -> None:
        """The conversation has nothing more for this client."""
        if isinstance(why, FollowAgain):
            self.close(4001 if isinstance(why, SlowReader) else 4000)
            return
        refused = refusal_of(why)
        if refused.code == "CONVERSATION_NOT_FOUND":  # it was there
            refused = Refused("CONVERSATION_CLOSED")
        self.close(CLOSES_WITH.get(str(refused.code), 4004), refused)

    def close(self, code: int, error: Refused | None = None) -> None:
        """End it, with the error that is the reason. It ends even if the client takes nothing."""
        if self._closing is None:
            self.code = code
            self._closing = asyncio.create_task(self._close(code, error))

    async def _close(self, code: int, error: Refused | None) -> None:
        """Send the last frames, then the close frame; drop the frames that the client does not take.

        A slow reader gets the close frame next: what it has not read comes when it comes again.
        """
        last = None if error is None else self.error(error)
        try:
            async with asyncio.timeout(_PATIENCE if code != 4002 else _PATIENCE / 4):
                if code != 4001:
                    await self.outlet.send_last(last)
                if self._wire is None:
                    await self._send({"type": "websocket.close", "code": code})
        except Exception as reason:  # it has gone, or does not read
            _log.debug("a client did not take its last frames: %r", reason)
        self.outlet.stop()
        if self._wire is not None:
            try:
                await self._wire.goodbye(code)
            except Exception:
                self._abort()
        if code == 4002:  # nobody is there to say goodbye to
            self._abort()

    def _abort(self) -> None:
        if self._wire is not None:
            self._wire.abort()

    def now(self) -> str:
        """The time, as frames have it."""
        return iso(self.service.engine.clock.now())
