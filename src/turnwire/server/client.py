"""One client on its WebSocket, whatever it speaks: its limits, signs of life, and how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.dialects.v2.close_codes import CLOSES_WITH
from turnwire.engine.channel import FollowAgain, Sent, SlowReader
from turnwire.errors import TurnwireError
from turnwire.server.keys import Who
from turnwire.server.limits import Bucket, is_too_deep
from turnwire.server.outlet import Outlet, Send, Wire
from turnwire.server.problems import refusal_of

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["Client"]

_PATIENCE = 2.0  # seconds that a client has to take the last frames
_TOO_OFTEN = 20  # frames in a row that make no sense, or come too fast, until the client has to go

_decode = msgspec.json.Decoder().decode


def _read_at_all(text: str) -> Any:
    """JSON, also with half a character in it: what is cut in the middle of an emoji has one."""
    try:
        return _decode(text)
    except ValueError:
        return json.loads(text)


class Client:
    """From the first frame to the last. Whoever speaks a language says here what its words are."""

    conversation_id: str | None = None
    id_name: str  # how the id of a frame is called

    def __init__(
        self,
        service: Service,
        who: Who,
        send: Send,
        wire: Wire | None,
        outlet: Callable[..., Outlet] = Outlet,
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
        self._bucket = Bucket(self.settings.frames_per_second, self.settings.frames_at_once)
        self._nonsense = 0
        self._hasty = 0
        self._closing: asyncio.Task[None] | None = None
        self._beside: set[asyncio.Task[None]] = set()
        self.outlet = outlet(
            send, wire, size=self.settings.buffer_bytes, ended=self.end, now=self._loop.time
        )
        if wire is not None:
            wire.when_silent(lambda: self.close(4002, Refused("HEARTBEAT_TIMEOUT")))

    # --- what a language has to say ---------------------------------------------------------------

    async def open(self) -> None:
        """What is sent before anything is read."""

    def leave(self) -> None:
        """It is over: follow nothing any more."""

    async def take(self, value: Any) -> None:
        """A frame of the client, as decoded JSON. Raises Refused if it is none."""
        raise NotImplementedError

    def error(self, refused: Refused) -> Sent:
        """A refusal, or the reason why it ends."""
        raise NotImplementedError

    def heartbeat(self) -> Sent:
        """A sign of life."""
        raise NotImplementedError

    # --- frames -----------------------------------------------------------------------------------

    async def run(self, receive: Any) -> None:
        """Everything, until the client has gone."""
        try:
            await self.open()
            await self._read(receive)
        finally:
            for task in self._beside:
                task.cancel()
            self.leave()
            self.outlet.stop()
            if self._closing is not None:
                await asyncio.gather(self._closing, return_exceptions=True)
            self.gone.set()

    async def _read(self, receive: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                if self._closing is None:
                    self.code = message.get("code", 1005)
                return
            if self._closing is None:
                try:
                    await self.take(self._understand(message.get("text")))
                except Refused as refused:
                    self._refuse(refused)
                else:
                    self._nonsense = 0

    def _understand(self, text: str | None) -> Any:
        """The JSON of a frame that is not one too many. Raises Refused."""
        wait = self._bucket.take(self._loop.time())
        if wait:
            self._hasty += 1
            raise Refused("RATE_LIMITED", retry_after=round(wait + 0.05, 1), **self._id_in(text))
        self._hasty = 0
        if text is None:
            raise Refused("INVALID_FORMAT", "A frame is a text message, not a binary one.")
        most = self.settings.max_frame_bytes
        if len(text) > most or len(text) * 4 > most < len(text.encode(errors="replace")):
            raise Refused("PAYLOAD_TOO_LARGE", max_frame_bytes=most, **self._id_in(text))
        try:
            value = _decode(text)
        except (ValueError, RecursionError) as error:
            said = f"The frame is not JSON: {error}"
            raise Refused("INVALID_FORMAT", said, **self._id_in(text)) from None
        if is_too_deep(text, lambda: value, self.settings.max_depth):
            said = f"No more than {self.settings.max_depth} objects and lists in one another."
            raise Refused("INVALID_PAYLOAD", said, **self._id_in(text))
        return value

    def _id_in(self, text: str | None) -> dict[str, Any]:
        """The id of a frame that is not looked at any closer, so that whoever waits for it is told."""
        own_id = None
        with suppress(ValueError, RecursionError):
            value = _read_at_all(text or "")
            found = value.get(self.id_name) if isinstance(value, dict) else None
            own_id = found if isinstance(found, str) and found.encode() else None
        return {self.id_name: own_id}

    def _refuse(self, refused: Refused) -> None:
        self.outlet.put(self.error(refused))
        if refused.code == "INVALID_FORMAT":
            self._nonsense += 1
        if self._nonsense >= _TOO_OFTEN:
            self.close(4505)
        elif self._hasty >= self.settings.frames_at_once + _TOO_OFTEN:
            self.close(4003, Refused("RATE_LIMITED", retry_after=10))

    def do_beside(self, work: Coroutine[Any, Any, None]) -> None:
        """What takes long must not keep what the client says next waiting: a stop, a heartbeat."""
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    # --- its end ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """A second has passed: say something if nothing was said for long."""
        silence = self._loop.time() - self.outlet.sent_at
        if silence >= self.settings.heartbeat_seconds - 1.5 and self.outlet.is_idle:
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
        last = None if error is None else self.error(error)
        try:
            async with asyncio.timeout(_PATIENCE if code != 4002 else _PATIENCE / 4):
                await self.outlet.send_last(last)
                await self._send({"type": "websocket.close", "code": code})
        except Exception:  # it has gone, or does not read
            self._abort()
        if code == 4002:  # nobody is there to say goodbye to
            self._abort()

    def _abort(self) -> None:
        if self._wire is not None:
            self._wire.abort()

    def now(self) -> str:
        """The time, as frames have it."""
        return iso(self.service.engine.clock.now())
