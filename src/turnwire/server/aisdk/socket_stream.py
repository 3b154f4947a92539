"""One stream of a socket of the AI SDK: a turn as numbered chunks under the id of a request."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from turnwire.core.error_codes import Refused
from turnwire.core.text import encode_clean
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Talk
from turnwire.errors import TurnwireError
from turnwire.server.aisdk.socket_frames import ChatFrame, chunk, note
from turnwire.server.sockets.outlet import Outlet
from turnwire.turn_streams.aisdk.sent import UiSent
from turnwire.turn_streams.aisdk.writer import UiWriter

__all__ = ["ChatStream"]

_encode = msgspec.json.Encoder().encode
_START, _END = len(b"data: "), -len(b"\n\n")  # around the chunk in a server-sent event


class ChatStream:
    """Follows a conversation until its turn has ended. Frames wait until the first ones are sent."""

    def __init__(
        self,
        request_id: str,
        talk: Talk,
        writer: UiWriter,
        connection_id: str,
        outlet: Outlet,
        ended: Callable[[ChatStream, TurnwireError | None], None],
        *,
        size: int,
    ) -> None:
        """`ended` is called once, with the error that ends the stream or the connection, or None.

        `size` is the maximum of bytes that wait for the first frames.
        """
        self.request_id = request_id
        self.talk = talk
        self.connection_id = connection_id
        self.is_over = False
        self.is_written = False  # whether the audit trail has a row of this stream
        self.reached = 0  # the newest entry that was sent
        self._name = _encode(request_id)
        self._writer = writer
        self._outlet = outlet
        self._ended = ended
        self._sequence = 0
        self._early: list[UiSent] | None = []  # None as soon as the first frames are sent
        self._early_size = 0  # bytes of `_early`
        self._most_bytes = size

    @property
    def turn_id(self) -> int | None:
        """The turn; None while its message is queued."""
        return self._writer.turn_id

    # --- what the conversation calls --------------------------------------------------------------

    def receive(self, together: list[UiSent]) -> None:
        """Sends the chunks of messages, or keeps the messages. Never waits."""
        if self._early is None:
            self._send(together)
        elif self._early_size > self._most_bytes:
            self.begin()
            self._outlet.cut_off()
        else:
            self._early += together
            self._early_size += sum(sent.size for sent in together)

    def begin(self) -> None:
        """Drops the messages that wait: the first ones contain them."""
        if self._early is not None:
            self._early.clear()
            self._early_size = 0

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Ends the stream, because the conversation cannot be followed any more."""
        if not self.is_over:
            self._ended(self, why())

    # --- frames -----------------------------------------------------------------------------------

    def let_go(self) -> None:
        """Sends the messages that came during the first ones. Later ones are sent directly."""
        early, self._early = self._early or [], None
        self._send(early)

    def _send(self, together: list[UiSent]) -> None:
        frames = [frame for sent in together for frame in self.tell(sent)]
        if frames:
            self._outlet.receive(frames)

    def tell(self, sent: UiSent) -> list[ChatFrame]:
        """Returns the frames of a message, which may be none. The last one ends the stream."""
        if self.is_over:
            return []
        writer, frame = self._writer, sent.frame
        if writer.is_next_piece(frame):
            return [self._chunk(sent.delta[_START:_END], None)]
        try:
            if isinstance(frame, f.SessionError):
                raise Refused("INTERNAL_ERROR", frame.payload.message)
            chunks = writer.feed(frame)
        except Refused as refused:  # the message was removed from the queue
            self._ended(self, None)
            return [note("error", self.request_id, refused.message)]
        last = len(chunks) - 1
        out = [
            self._chunk(encode_clean(_encode, each), sent.number if place == last else None)
            for place, each in enumerate(chunks)
        ]
        if writer.is_over:
            out.append(note("end", self.request_id))
            self._ended(self, None)
        return out

    def _chunk(self, raw: bytes, number: int | None) -> ChatFrame:
        self.reached = max(self.reached, number or 0)
        self._sequence += 1
        return chunk(self._name, self._sequence - 1, raw, number)
