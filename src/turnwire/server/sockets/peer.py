"""One client on its WebSocket, for every protocol: its limits, heartbeats, and how it is closed."""

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

_PATIENCE = 2.0  # seconds that a client has to read the last frames
_STALLED = 20.0  # seconds in which a client with a full buffer has to read something
_MANY_FRAMES = "Too many frames in a short time (frames_per_second, frames_at_once)."
_TOO_OFTEN = 20  # consecutive frames that are malformed or too fast, until the client is closed

_decode = msgspec.json.Decoder().decode


class Client:
    """One client, from its first frame to its last.

    A subclass for each protocol makes the frames.
    """

    conversation_id: str | None = None
    id_name: str  # the name of the field with the id of a frame
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
        self.gone = asyncio.Event()  # set when the connection has ended and is cleaned up
        self.code = 1006  # the close code of the connection
        self.service = service
        self.settings = service.settings
        self._send = send
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        self._share = service.shares.of(who)
        self._bucket = (
            self._share.frames  # shared by all connections of this user
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

    # --- what a protocol implements ---------------------------------------------------------------

    async def open(self) -> None:
        """Sends the first frames, before any frame of the client is read."""

    def leave(self) -> None:
        """Stops following, because the connection has ended."""

    async def take(self, value: Any) -> None:
        """Carries out a frame of the client, given as decoded JSON.

        Raises Refused if it is invalid.
        """
        raise NotImplementedError

    def error(self, refused: Refused) -> Outgoing | None:
        """Returns a frame with a refusal, or with the reason why the connection ends.

        Returns None if the protocol has no such frame.
        """
        raise NotImplementedError

    def heartbeat(self) -> Outgoing | None:
        """Returns a heartbeat frame. Returns None if the protocol has none."""
        raise NotImplementedError

    @property
    def is_idle(self) -> bool:
        """Returns whether no frame waits to be sent."""
        return self.outlet.is_idle

    # --- frames -----------------------------------------------------------------------------------

    async def run(self, receive: Any) -> None:
        """Serves the client until it has left."""
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
        """Returns the decoded JSON of a frame.

        Raises Refused if it is malformed or over a limit.
        """
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
        """Returns the id of a frame that is refused unread, so that the client can identify it."""
        return {self.id_name: None if text is None else id_in(text, self.id_name)}

    def _refuse(self, refused: Refused) -> None:
        frame = self.error(refused)
        if frame is not None:
            self.outlet.put(frame)
        if refused.code == "INVALID_FORMAT":
            self._nonsense += 1
        if self._nonsense >= _TOO_OFTEN:
            self.close(4505)
        elif self._hasty >= self.settings.frames_at_once + _TOO_OFTEN:
            self.close(4003, Refused("RATE_LIMITED", _MANY_FRAMES, retry_after=10))

    def do_beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a slow command as a background task, so that further frames do not wait for it."""
        self._background.run(work)

    # --- its end ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Sends a heartbeat if one is due, and ends a client that does not read.

        Called once a second.
        """
        if self.outlet.is_stalled(self._loop.time() - _STALLED):
            self.outlet.cut_off()
        silence = self._loop.time() - self.outlet.sent_at
        if silence >= self.settings.heartbeat_seconds - 1.5 and self.is_idle:
            beat = self.heartbeat()
            if beat is not None:
                self.outlet.put(beat)

    def end(self, why: TurnwireError) -> None:
        """Closes the client with the code of an error that ended the conversation for it."""
        if isinstance(why, FollowAgain):
            self.close(4001 if isinstance(why, SlowReader) else 4000)
            return
        refused = refusal_of(why)
        if refused.code == "CONVERSATION_NOT_FOUND":  # it existed when the client connected
            refused = Refused("CONVERSATION_CLOSED")
        self.close(CLOSES_WITH.get(str(refused.code), 4004), refused)

    def close(self, code: int, error: Refused | None = None) -> None:
        """Closes the connection with a code and an error, even if the client does not read."""
        if self._closing is None:
            self.code = code
            self._closing = asyncio.create_task(self._close(code, error))

    async def _close(self, code: int, error: Refused | None) -> None:
        """Sends the last frames, then the close frame. Drops frames that the client does not read.

        A slow reader gets the close frame next, and the missed frames when it reconnects.
        """
        last = None if error is None else self.error(error)
        try:
            async with asyncio.timeout(_PATIENCE if code != 4002 else _PATIENCE / 4):
                if code != 4001:
                    await self.outlet.send_last(last)
                if self._wire is None:
                    await self._send({"type": "websocket.close", "code": code})
        except Exception as reason:  # the client has left, or does not read
            _log.debug("a client did not read its last frames: %r", reason)
        self.outlet.stop()
        if self._wire is not None:
            try:
                await self._wire.goodbye(code)
            except Exception:
                self._abort()
        if code == 4002:  # the client is silent, and would not answer the close frame
            self._abort()

    def _abort(self) -> None:
        if self._wire is not None:
            self._wire.abort()

    def now(self) -> str:
        """Returns the current time in the format of frames."""
        return iso(self.service.engine.clock.now())
