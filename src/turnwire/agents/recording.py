"""A recorded stream as turns of events, with the seconds between them."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.errors import BadLine

__all__ = ["Beat", "RecordedTurn", "tool_results", "turns_of"]

_PACE = 0.02  # seconds a line, where the recording does not say


class Beat(Struct, frozen=True):
    """What one recorded line means, and how long after the one before it came."""

    after: float  # seconds
    events: list[NormalizedStreamEvent]


class RecordedTurn(Struct, frozen=True):
    """A turn, with what came before it and behind it."""

    beats: list[Beat]
    prompted: bool  # somebody asked for it

    def position_of(self, tool_use_id: str) -> int | None:
        """The beat behind the one that asks this question."""
        for position, beat in enumerate(self.beats, 1):
            for event in beat.events:
                if isinstance(event, ev.QuestionAsked) and event.tool_use_id == tool_use_id:
                    return position
        return None


class _Timed(Struct):
    """A line of a recording of both directions."""

    t: float
    dir: str
    msg: msgspec.Raw


def turns_of(path: Path) -> list[RecordedTurn]:
    """Read what Claude Code wrote: bare lines, or lines with their times and direction.

    Raises OSError. A line that cannot be read is passed by.
    """
    from turnwire.dialects import claude  # only for those who play one

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
    """The agent's own line, if this is one, and its time."""
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
    """Cut behind each end of a turn. What sub-agents say after it belongs to what follows it."""
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
    """The calls that an event gives a result to."""
    if not isinstance(event, ev.UserMessage):
        return set()
    return {block.tool_use_id for block in event.content if isinstance(block, ToolResultBlock)}
