"""Writes the frames of one turn as the events of another protocol's stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from turnwire.core.error_codes import Refused
from turnwire.core.pieces import LARGE, in_pieces
from turnwire.dialects.v2 import frames as f
from turnwire.server.api.problems import error_frame
from turnwire.turn_streams.stream_projector import StreamSent
from turnwire.turn_streams.turn_writer import TurnWriter

__all__ = ["TurnEvents"]

Event = TypeVar("Event")


class TurnEvents(Generic[Event]):
    """The events of one response, until the turn has ended or waits for a person."""

    def __init__(
        self,
        writer: TurnWriter[Event],
        event_of: Callable[[Event, str | None], bytes],
        shared: Callable[[f.Frame], StreamSent],
        conversation_id: str,
        now: Callable[[], str],
        *,
        last: bytes = b"",
    ) -> None:
        """`event_of` encodes an event with its id. `shared`: the class of the protocol's messages.

        `last`: the bytes after the last event.
        """
        self.is_over = False
        self._writer = writer
        self._event_of = event_of
        self._shared = shared
        self._conversation_id = conversation_id
        self._now = now
        self._last = last

    def events(self, sent: StreamSent, sequence: int) -> list[bytes | memoryview]:
        """Returns the events of a frame. The last event of an entry has an id."""
        writer, frame = self._writer, sent.frame
        if writer.is_next_piece(frame):
            return [sent.delta]
        if isinstance(frame, f.SessionError):
            events = writer.refuse(Refused("INTERNAL_ERROR", frame.payload.message))
        else:
            events = writer.feed(frame)
        if not events:
            return []
        raw = b"".join(self._event_of(each, None) for each in events[:-1])
        own_id = None if sent.number is None else writer.event_id(sent.number)
        raw += self._event_of(events[-1], own_id)
        if writer.is_over:
            self.is_over = True
            raw += self._last
        return [raw] if len(raw) <= LARGE else list(in_pieces(raw))

    def error(self, refused: Refused) -> StreamSent:
        """Returns the frame with the reason why the stream ends early."""
        return self._shared(error_frame(refused, self._conversation_id, self._now()))
