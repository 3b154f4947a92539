"""Writes the frames of a conversation as the events of a UI message stream."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.core.error_codes import Refused
from turnwire.core.pieces import LARGE, in_pieces
from turnwire.dialects.v2 import frames as f
from turnwire.server.aisdk.projector import UiSent, event_of
from turnwire.server.aisdk.writer import UiWriter
from turnwire.server.api.problems import error_frame

__all__ = ["UiEvents"]

_DONE = b"data: [DONE]\n\n"


class UiEvents:
    """The events of one response, until the turn has ended or waits for a person."""

    def __init__(self, writer: UiWriter, conversation_id: str, now: Callable[[], str]) -> None:
        self.is_over = False
        self._writer = writer
        self._conversation_id = conversation_id
        self._now = now

    def events(self, sent: UiSent, sequence: int) -> list[bytes | memoryview]:
        """Returns the events of a frame. The last event of an entry has its number as its id."""
        writer, frame = self._writer, sent.frame
        if writer.is_next_piece(frame):
            return [sent.delta]
        if isinstance(frame, f.SessionError):
            chunks = writer.refuse(Refused("INTERNAL_ERROR", frame.payload.message))
        else:
            chunks = writer.feed(frame)
        if not chunks:
            return []
        raw = b"".join(event_of(chunk) for chunk in chunks[:-1])
        raw += event_of(chunks[-1], sent.number)
        if writer.is_over:
            self.is_over = True
            raw += _DONE
        return [raw] if len(raw) <= LARGE else list(in_pieces(raw))

    def error(self, refused: Refused) -> UiSent:
        """Returns the frame with the reason why the stream ends early."""
        return UiSent(error_frame(refused, self._conversation_id, self._now()))
