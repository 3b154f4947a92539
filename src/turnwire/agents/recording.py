"""Reads a recorded agent stream into turns of events, with the seconds between the events."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.errors import BadLine

__all__ = ["Beat", "RecordedTurn", "tool_results", "turns_of"]

_PACE = 0.02  # seconds per line, if the recording has no times


class Beat(Struct, frozen=True):
    """The events of one recorded line, and the time since the previous line."""

    after: float  # seconds
    events: list[NormalizedStreamEvent]


class RecordedTurn(Struct, frozen=True):
    """A turn with the events since the previous one. The last turn also has all events after it."""

    beats: list[Beat]
    prompted: bool  # False if the agent began the turn by itself

    def position_of(self, tool_use_id: str) -> int | None:
        """Returns the index of the beat after this question, or None if it is not in this turn."""
        for position, beat in enumerate(self.beats, 1):
            for event in beat.events:
                if isinstance(event, ev.QuestionAsked) and event.tool_use_id == tool_use_id:
                    return position
        return None


class _Timed(Struct):
    """A line of a recording that contains both directions, with time and direction."""

    t: float
    dir: str
    msg: msgspec.Raw


def turns_of(path: Path) -> list[RecordedTurn]:
    """Reads the output of Claude Code: plain lines, or lines with time and direction.

    Skips a line that cannot be decoded. Raises OSError if the file cannot be read.
    """
    from turnwire.dialects import claude  # imported only when a recording is read

    adapter = claude.ClaudeStreamAdapter()
    beats: list[Beat] = []
    last = 0.0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            raw, at = _line_of(line.strip(), last)
            if raw is None:
                continue
            try:
                events = adapter.feed(claude.decode(raw, number))
            except BadLine:
                continue
            if events:
                beats.append(Beat(max(0.0, at - last), events))
            last = at
    beats.append(Beat(0.0, adapter.finish()))
    return _in_turns(beats)


def _line_of(line: bytes, last: float) -> tuple[bytes | None, float]:
    """Returns the agent's line and its time. The line is None if it did not come from the agent."""
    if not line:
        return None, last
    if line.startswith(b'{"t"'):
        try:
            timed = msgspec.json.decode(line, type=_Timed)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None, last
        return (bytes(timed.msg), timed.t) if timed.dir == "out" else (None, last)
    return line, last + _PACE


def _in_turns(beats: list[Beat]) -> list[RecordedTurn]:
    """Splits the beats after each end of a turn.

    Events that sub-agents emit after the end of a turn go to the next turn.
    """
    turns: list[RecordedTurn] = []
    current: list[Beat] = []
    for beat in beats:
        current.append(beat)
        for event in beat.events:
            if isinstance(event, ev.TurnCompleted | ev.TurnFailed):
                turns.append(RecordedTurn(current, event.origin is None))
                current = []
    rest = [beat for beat in current if beat.events]
    if rest and turns:
        turns[-1].beats.extend(rest)
    return turns


def tool_results(event: NormalizedStreamEvent) -> set[str]:
    """Returns the ids of the tool calls whose results this event contains."""
    if not isinstance(event, ev.UserMessage):
        return set()
    return {block.tool_use_id for block in event.content if isinstance(block, ToolResultBlock)}
