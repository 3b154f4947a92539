"""Writes the frames of a conversation as the events of one run."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.core.error_codes import Refused
from turnwire.core.pieces import LARGE, in_pieces
from turnwire.dialects.v2 import frames as f
from turnwire.server.api.problems import error_frame
from turnwire.turn_streams.agui.sent import AguiSent, event_of
from turnwire.turn_streams.agui.writer import AguiWriter

__all__ = ["RunEvents"]


class RunEvents:
    """The events of one response, until the run has ended."""

    def __init__(self, writer: AguiWriter, conversation_id: str, now: Callable[[], str]) -> None:
        self.is_over = False
        self._writer = writer
        self._conversation_id = conversation_id
        self._now = now

    def events(self, sent: AguiSent, sequence: int) -> list[bytes | memoryview]:
        """Returns the events of a frame. The last one has the place of the reader as its id."""
        writer, frame = self._writer, sent.frame
        if writer.is_next_piece(frame):
            return [self._id() + sent.delta]
        if isinstance(frame, f.SessionError):
            events = writer.refuse(Refused("INTERNAL_ERROR", frame.payload.message))
        else:
            events = writer.feed(frame)
        if not events:
            return []
        raw = b"".join([*map(event_of, events[:-1]), self._id(), event_of(events[-1])])
        self.is_over = writer.is_over
        return [raw] if len(raw) <= LARGE else list(in_pieces(raw))

    def error(self, refused: Refused) -> AguiSent:
        """Returns the frame with the reason why the run ends early."""
        return AguiSent(error_frame(refused, self._conversation_id, self._now()))

    def _id(self) -> bytes:
        place = self._writer.event_id
        return b"" if place is None else b"id: %s\n" % place.encode()
