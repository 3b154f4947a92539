"""Writes all turns of one connection as streams of another protocol, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias, TypeVar

from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.reply import ReplyReader
from turnwire.turn_streams.turn_writer import TurnWriter

__all__ = ["MakeWriter", "TurnsWriter", "has_number", "reader_of"]

Event = TypeVar("Event")
MakeWriter: TypeAlias = Callable[[ReplyReader, int], TurnWriter[Event]]


def reader_of(turn_id: int, *, after: int = 0) -> ReplyReader:
    """Returns a reader of a turn that is known; `after`: the entries before the turn."""
    reader = ReplyReader("", after=after)
    reader.acknowledged(turn_id, None)
    return reader


class TurnsWriter(Generic[Event]):
    """Takes the frames of a connection. Returns the events of each turn.

    A stream ends where its turn waits for a person. Another stream continues it after the reply.
    """

    def __init__(self, make_writer: MakeWriter[Event]) -> None:
        """`make_writer` takes the reader of a turn, and the last entry that was sent before."""
        self._make_writer = make_writer
        self._writer: TurnWriter[Event] | None = None
        self._entries: list[f.Frame] = []  # of the turn: the stream that continues it takes them
        self._ended: set[int] = set()

    def feed(self, frame: f.Frame) -> list[Event]:
        """Returns the events of a frame. What comes after the end of its turn has none."""
        turn_id = frame.turn_id
        if turn_id is not None and turn_id not in self._ended:
            self._writer = self._writer_of(turn_id)
        if self._writer is None:
            return []
        out = self._writer.feed(frame)
        if turn_id == self._writer.turn_id and has_number(frame):
            self._entries.append(frame)
        if turn_id is not None and isinstance(frame, f.AssistantComplete):
            self._ended.add(turn_id)
        return out

    def _writer_of(self, turn_id: int) -> TurnWriter[Event]:
        before = self._writer
        if before is None or before.turn_id != turn_id:
            self._entries = []
            return self._make_writer(reader_of(turn_id), 0)
        if not before.is_over:
            return before
        writer = self._make_writer(reader_of(turn_id), before.last)
        for frame in self._entries:
            writer.feed(frame)
        return writer


def has_number(frame: f.Frame) -> bool:
    """Returns whether a frame is an entry of the log."""
    payload: Any = frame.payload  # type: ignore[attr-defined]  # every kind has one
    return getattr(payload, "message_sequence", None) is not None
