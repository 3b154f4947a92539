"""Writes everything that one connection shows as runs of AG-UI, one after the other."""

from __future__ import annotations

from turnwire.dialects.agui import events as e
from turnwire.dialects.v2 import frames as f
from turnwire.turn_streams.agui.writer import AguiWriter, Run
from turnwire.turn_streams.place import StreamPlace, place_of
from turnwire.turn_streams.turns import has_number

__all__ = ["RunsWriter"]


class RunsWriter:
    """Takes the frames of a connection, from the first entry on. Returns the events of its runs.

    A run ends where a turn waits for a person, or where nothing is left to do. The next frame of a
    turn begins another one.
    """

    def __init__(self) -> None:
        self._count = 1
        self._entries: list[f.Frame] = []  # of the turn: the run that continues it takes them
        self._writer = AguiWriter(Run("thread-1", "run-1", {}), StreamPlace(0))

    def feed(self, frame: f.Frame) -> list[e.Event]:
        """Returns the events of a frame."""
        out: list[e.Event] = []
        if self._writer.is_over:
            if frame.turn_id is None:
                return []
            self._count += 1
            place = place_of(self._writer.event_id or "0")
            self._writer = AguiWriter(Run("thread-1", f"run-{self._count}", {}), place)
            out = [event for entry in self._entries for event in self._writer.feed(entry)]
        out += self._writer.feed(frame)
        if has_number(frame):
            self._entries.append(frame)
        elif isinstance(frame, f.AssistantComplete):
            self._entries = []
        return out
