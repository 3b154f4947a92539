"""A client of `WebSocketChatTransport` (npm `ai` 7) on its WebSocket: its requests and streams."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from turnwire.core.error_codes import Refused
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.engine.fanout.follow import Place
from turnwire.errors import TurnwireError
from turnwire.server.access.keys import Who
from turnwire.server.aisdk import chats
from turnwire.server.aisdk.socket_frames import (
    AbortFrame,
    ChatFrame,
    ResumeFrame,
    SendFrame,
    note,
    read_frame,
)
from turnwire.server.aisdk.socket_stream import ChatStream
from turnwire.server.api.problems import refusal_of
from turnwire.server.sockets.outlet import Gone, Send, Wire
from turnwire.server.sockets.peer import Client
from turnwire.turn_streams.aisdk.writer import UiWriter

if TYPE_CHECKING:
    from turnwire.server.service import Service

__all__ = ["ChatConnection", "chat_error"]

_log = logging.getLogger("turnwire")
_MOST_STREAMS = 16  # of one connection


def chat_error(refused: Refused) -> ChatFrame:
    """Returns a frame with a refusal. A frame without a request is ignored by the client."""
    return note("error", refused.data.get("requestId") or "", refused.message)


class ChatConnection(Client):
    """One client. Each of its requests has a stream, and they share the connection."""

    id_name = "requestId"
    follows_at_once = False  # each request follows its own conversation

    def __init__(
        self,
        service: Service,
        who: Who,
        send: Send,
        wire: Wire | None,
        *,
        abort_stops: bool,
        blob_url: Callable[[str], str],
    ) -> None:
        """`abort_stops`: a request that is aborted also stops its turn."""
        super().__init__(service, who, send, wire)
        self._abort_stops = abort_stops
        self._blob_url = blob_url
        self._streams: dict[str, ChatStream] = {}  # by the id of the request
        self._opening = asyncio.Lock()  # one stream at a time sends its first frames

    def leave(self) -> None:
        """Ends all streams. Their turns go on."""
        for stream in [*self._streams.values()]:
            self._forget(stream)

    # --- requests ---------------------------------------------------------------------------------

    async def take(self, value: Any) -> None:
        """Carries out a frame. Its stream is sent by a background task."""
        frame = read_frame(value)
        try:
            await self._take(frame)
        except TurnwireError as error:
            refused = refusal_of(error)
            refused.data["requestId"] = frame.request_id
            raise refused from None
        except Exception:
            _log.exception("a chat of the AI SDK: a frame failed")
            raise Refused("INTERNAL_ERROR", requestId=frame.request_id) from None

    async def _take(self, frame: SendFrame | ResumeFrame | AbortFrame) -> None:
        name = frame.request_id
        if isinstance(frame, AbortFrame):
            await self._abort_request(name)
            return
        if name in self._streams:
            raise Refused("INVALID_PAYLOAD", "This requestId still has a stream: choose another.")
        if len(self._streams) >= _MOST_STREAMS:
            said = f"A connection has at most {_MOST_STREAMS} streams. Open another connection."
            raise Refused("RATE_LIMITED", said)
        if isinstance(frame, SendFrame):
            self._begin(name, await chats.send(self.service, self.who, frame.request()))
            return
        if frame.last_sequence is not None:
            said = "The whole message is sent again: leave out `lastSequence`."
            raise Refused("INVALID_PAYLOAD", said)
        answer = await chats.running(self.service, self.who, frame.id)
        if answer is None:
            self.outlet.put(note("no-active", name))
        else:
            self.outlet.put(note("start", name))
            self._begin(name, answer)

    async def _abort_request(self, request_id: str) -> None:
        stream = self._streams.get(request_id)
        if stream is None:
            return
        self._forget(stream)
        turn_id = stream.turn_id
        if self._abort_stops and turn_id is not None:
            await stream.talk.interrupt(turn_id, user=self.who.name)

    # --- streams ----------------------------------------------------------------------------------

    def _begin(self, request_id: str, answer: chats.Answer) -> None:
        name = self.service.engine.new_id()
        writer = UiWriter(answer.reader, after=answer.after, blob_url=self._blob_url)
        size = self.settings.buffer_bytes
        to = (answer.talk, writer, name, self.outlet)
        stream = ChatStream(request_id, *to, self._ended, size=size)
        self._streams[request_id] = stream
        self.conversation_id = answer.talk.id
        about = {"connection_id": name, "token_id": self.who.token_id, "protocol": "aisdk"}
        audit = self.service.connection_audit
        stream.is_written = audit.connected(self.who, answer.talk.id, **about)
        opening = self._open(stream, Place(answer.reader.cursor))
        self.do_beside(self._share.timed(opening))

    async def _open(self, stream: ChatStream, place: Place) -> None:
        """Sends the turn as far as it is. From then on its frames are sent as they are made."""
        first = self.service.engine.attach(
            stream.talk.row,
            place,
            stream,
            client_id=self.who.client_id,
            connection_id=stream.connection_id,
            user=self.who.name,
            is_owner=self.who.is_owner,
            reached=lambda: stream.reached,
            protocol=self.service.aisdk,
        )
        try:
            async with self._opening, aclosing(first):
                async for sent in first:
                    for frame in stream.tell(sent):
                        await self.outlet.send_first(frame)
                    if stream.is_over:
                        break
            stream.let_go()
        except Gone:
            pass  # the read loop notices it
        except TurnwireError as error:
            self._ended(stream, error)
        except Exception:
            _log.exception("conversation %s: a stream failed", stream.talk.id)
            self._ended(stream, Refused("INTERNAL_ERROR"))
        finally:
            if stream.is_over:  # perhaps before it followed
                self._detach(stream)

    def _ended(self, stream: ChatStream, why: TurnwireError | None) -> None:
        """Ends a stream whose turn has ended, or that cannot go on.

        If the conversation has to be followed again, the connection ends: its client asks again.
        """
        if self._streams.get(stream.request_id) is not stream:
            return
        if isinstance(why, FollowAgain):
            self.end(why)
        elif why is not None:
            self.outlet.put(note("error", stream.request_id, refusal_of(why).message))
        self._forget(stream)

    def _forget(self, stream: ChatStream) -> None:
        if self._streams.pop(stream.request_id, None) is None:
            return
        stream.is_over = True
        newest = next(reversed(self._streams.values()), None)
        self.conversation_id = None if newest is None else newest.talk.id
        self._loop.call_soon(self._detach, stream)  # the conversation may be publishing now
        if stream.is_written:
            about = {"connection_id": stream.connection_id, "token_id": self.who.token_id}
            self.service.connection_audit.disconnected(
                self.who, stream.talk.id, **about, protocol="aisdk"
            )

    def _detach(self, stream: ChatStream) -> None:
        self.service.engine.detach(stream.talk.id, stream, stream.connection_id)

    # --- frames for the client --------------------------------------------------------------------

    def error(self, refused: Refused) -> ChatFrame:
        """Returns a frame with a refusal."""
        return chat_error(refused)

    def heartbeat(self) -> None:
        """Returns None: the client knows no heartbeat. The socket's own pings are sent."""
