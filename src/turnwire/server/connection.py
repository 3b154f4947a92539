"""One client on its WebSocket: what it is sent, what it asks for, and how it ends."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from turnwire.core.error_codes import Refused
from turnwire.core.times import iso
from turnwire.dialects.v2 import commands as c
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.close_codes import CLOSES_WITH
from turnwire.dialects.v2.codec import read_command
from turnwire.engine import Talk
from turnwire.engine.channel import FollowAgain, Sent, SlowReader
from turnwire.engine.follow import Place
from turnwire.errors import TurnwireError
from turnwire.server.commands import ack_of, carry_out
from turnwire.server.keys import Who
from turnwire.server.limits import Bucket, is_too_deep
from turnwire.server.outlet import Gone, Outlet, Send, Wire
from turnwire.server.problems import error_frame, refusal_of

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["Connection"]

_log = logging.getLogger("turnwire")
_PATIENCE = 2.0  # seconds that a client has to take the last frames
_TOO_OFTEN = 20  # frames in a row that make no sense, or come too fast, until the client has to go

_decode = msgspec.json.Decoder().decode


class _OnlyId(Struct):
    client_message_id: str | None = None


_read_id = msgspec.json.Decoder(_OnlyId).decode


class Connection:
    """From the first frame to the last."""

    def __init__(
        self, service: Service, talk: Talk, who: Who, send: Send, wire: Wire | None
    ) -> None:
        self.who = who
        self.conversation_id = talk.id
        self.connection_id = service.engine.new_id()
        self.gone = asyncio.Event()  # it is over, and nothing of it is left
        self.code = 1006  # how it ended
        self._service = service
        self._settings = service.settings
        self._talk = talk
        self._send = send
        self._wire = wire
        self._loop = asyncio.get_running_loop()
        self._bucket = Bucket(self._settings.frames_per_second, self._settings.frames_at_once)
        self._nonsense = 0
        self._hasty = 0
        self._closing: asyncio.Task[None] | None = None
        self._outlet = Outlet(
            send,
            wire,
            size=self._settings.buffer_bytes,
            ended=self._end,
            now=self._loop.time,
        )
        if wire is not None:
            wire.when_silent(lambda: self.close(4002, Refused("HEARTBEAT_TIMEOUT")))

    async def run(self, place: Place, receive: Any) -> None:
        """Everything, until the client has gone."""
        try:
            await self._open(place)
            await self._read(receive)
        finally:
            self._service.engine.detach(self.conversation_id, self._outlet, self.connection_id)
            self._outlet.stop()
            if self._closing is not None:
                await asyncio.gather(self._closing, return_exceptions=True)
            self.gone.set()

    async def _open(self, place: Place) -> None:
        first = self._service.engine.attach(
            self._talk.row,
            place,
            self._outlet,
            client_id=self.who.client_id,
            connection_id=self.connection_id,
            user=self.who.name,
            reached=lambda: self._outlet.reached,
        )
        try:
            async with aclosing(first):
                async for sent in first:
                    await self._outlet.send_first(sent)
            await self._outlet.release()
        except Gone:
            pass  # reading will say so
        except TurnwireError as error:
            self._end(error)

    async def _read(self, receive: Any) -> None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                if self._closing is None:
                    self.code = message.get("code", 1005)
                return
            if self._closing is None:
                await self._take(message.get("text"))

    # --- what the client asks for ---------------------------------------------------------------

    async def _take(self, text: str | None) -> None:
        try:
            command = self._understand(text)
        except Refused as refused:
            self._refuse(refused)
            return
        self._nonsense = 0
        if isinstance(command, c.Heartbeat):
            self._put(self._frame(f.SessionHeartbeatAck, p.HeartbeatAck(command.client_message_id)))
            return
        answered = False

        def accepted(answer: Any) -> None:
            nonlocal answered
            answered = True
            self._put(ack_of(command, answer, self.conversation_id, self._now()))

        try:
            talk = self._talk.telling(accepted)
            await carry_out(command, talk, self.who, self._service)
        except TurnwireError as error:
            told = refusal_of(error)
            if isinstance(command, c.InputResponse) and "request_id" in told.data:
                told.data["question_id"] = told.data.pop("request_id")
            if not answered:
                self._put(error_frame(told, *self._here(), command.client_message_id))
            if told.code == "CONVERSATION_NOT_FOUND":
                self._end(told)
        except Exception:
            _log.exception("conversation %s: a frame failed", self.conversation_id)
            if not answered:
                defect = Refused("INTERNAL_ERROR")
                self._put(error_frame(defect, *self._here(), command.client_message_id))

    def _understand(self, text: str | None) -> c.ClientFrame:
        """The frame, if it is one, and not one too many. Raises Refused."""
        wait = self._bucket.take(self._loop.time())
        if wait:
            self._hasty += 1
            raise Refused(
                "RATE_LIMITED", retry_after=round(wait + 0.05, 1), client_message_id=_id_in(text)
            )
        self._hasty = 0
        if text is None:
            raise Refused("INVALID_FORMAT", "A frame is a text message, not a binary one.")
        most = self._settings.max_frame_bytes
        if len(text) > most or len(text) * 4 > most < len(text.encode(errors="replace")):
            raise Refused("PAYLOAD_TOO_LARGE", max_frame_bytes=most, client_message_id=_id_in(text))
        try:
            value = _decode(text)
        except (ValueError, RecursionError) as error:
            raise Refused("INVALID_FORMAT", f"The frame is not JSON: {error}") from None
        if is_too_deep(text, value, self._settings.max_depth):
            said = f"No more than {self._settings.max_depth} objects and lists in one another."
            raise Refused("INVALID_PAYLOAD", said, client_message_id=_id_in(text))
        return read_command(value)

    def _refuse(self, refused: Refused) -> None:
        self._put(error_frame(refused, *self._here()))
        if refused.code == "INVALID_FORMAT":
            self._nonsense += 1
        if self._nonsense >= _TOO_OFTEN:
            self.close(4505)
        elif self._hasty >= self._settings.frames_at_once + _TOO_OFTEN:
            self.close(4003, Refused("RATE_LIMITED", retry_after=10))

    # --- what it is told -------------------------------------------------------------------------

    def tick(self) -> None:
        """A second has passed: say something if nothing was said for long."""
        silence = self._loop.time() - self._outlet.sent_at
        if silence >= self._settings.heartbeat_seconds - 1.5 and self._outlet.is_idle:
            self._put(self._frame(f.SessionHeartbeatAck, p.HeartbeatAck()))

    def _end(self, why: TurnwireError) -> None:
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
        last = None if error is None else Sent(error_frame(error, *self._here()))
        try:
            async with asyncio.timeout(_PATIENCE if code != 4002 else _PATIENCE / 4):
                await self._outlet.send_last(last)
                await self._send({"type": "websocket.close", "code": code})
        except Exception:  # it has gone, or does not read
            self._abort()
        if code == 4002:  # nobody is there to say goodbye to
            self._abort()

    def _abort(self) -> None:
        if self._wire is not None:
            self._wire.abort()

    def _put(self, frame: f.Frame) -> None:
        self._outlet.put(Sent(frame))

    def _frame(self, kind: type[f.Frame], payload: Any) -> f.Frame:
        name, now = self._here()
        return kind(name, None, None, now, None, payload)  # type: ignore[call-arg]

    def _here(self) -> tuple[str, str]:
        return self.conversation_id, self._now()

    def _now(self) -> str:
        return iso(self._service.engine.clock.now())


def _id_in(text: str | None) -> str | None:
    """The id of a frame that is not looked at any closer."""
    try:
        return None if text is None else _read_id(text).client_message_id
    except (ValueError, RecursionError):
        return None
