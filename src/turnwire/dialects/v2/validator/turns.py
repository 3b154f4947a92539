"""Checks turns: one at a time, with growing numbers, one start and one end each."""

from __future__ import annotations

from msgspec import Struct

from turnwire.core.status import TurnEnd
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.validator.connection import Say

__all__ = ["End", "TurnCheck", "parent_of"]


class End(Struct, frozen=True, gc=False):
    """The end of a turn, as first received."""

    mark: int  # hash of the whole frame
    said: TurnEnd


class TurnCheck:
    """Checks the turns of one log."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self.whole = True  # the log is known from its start
        self.count = 0
        self.latest = 0  # the greatest number
        self.open: int | None = None
        self.ends: dict[int, End] = {}
        self.expected: tuple[int | None, str | None] | None = (
            None  # the turn and message of an ack: this turn starts next
        )
        self._interrupted: set[int | None] = set()
        self._traces: dict[int, str] = {}
        self._turn_of_trace: dict[str, int] = {}

    @property
    def last(self) -> int | None:
        """Returns the last turn that has ended."""
        return max(self.ends, default=None)

    def has_ended(self, turn_id: int) -> bool | None:
        """Returns None if the recording does not show it."""
        if turn_id == self.open:
            return False
        was = turn_id in self.ends or (self.whole and turn_id < self.latest)
        return True if was else None

    def trace(self, turn_id: int | None, trace_id: str | None) -> None:
        """Checks the trace_id of a frame."""
        if turn_id is None or trace_id is None:
            if turn_id is not trace_id:  # type: ignore[comparison-overlap]  # one of them is None
                self._say("wrong_trace", f"turn {turn_id}, trace {trace_id}")
            return
        known = self._traces.setdefault(turn_id, trace_id)
        other = self._turn_of_trace.setdefault(trace_id, turn_id)
        if known != trace_id or other != turn_id:
            self._say("wrong_trace", f"turn {turn_id} and trace {trace_id} do not match")

    def started(self, frame: f.TurnStarted, *, runs: bool | None) -> bool:
        """Checks turn.started, which is never replayed. Returns whether the turn is now open.

        `runs` says whether the agent was running; None if that is unknown.
        """
        start = frame.payload
        turn_id = frame.turn_id or start.turn_id
        expected, self.expected = self.expected, None
        if start.turn_id != turn_id:
            self._say("turn_started_wrongly", f"turn {start.turn_id} in a frame of turn {turn_id}")
        elif start.origin == "resume":
            if turn_id in self.ends or turn_id != (self.open or turn_id) or runs:
                self._say("turn_started_wrongly", f"turn {turn_id} cannot resume")
        elif turn_id <= self.latest:
            self._say("turn_started_wrongly", f"turn {turn_id} after {self.latest}")
        elif self.open is not None:
            self._say("turn_overlaps", f"turn {turn_id} while {self.open} runs")
        elif expected is not None and expected != (turn_id, start.client_message_id):
            own_id = expected[1] or "a message"
            self._say("turn_started_wrongly", f"{own_id} should have started turn {expected[0]}")
        if turn_id in self.ends:
            return False
        self._note(turn_id)
        self.open = turn_id
        return True

    def _note(self, turn_id: int) -> None:
        if turn_id > self.latest:
            self.count += 1
            self.latest = turn_id

    def goes_on(self, turn_id: int) -> None:
        """Notes the open turn that the state of a new connection names."""
        self._note(turn_id)
        self.open = turn_id

    def about(self, frame: f.Frame, *, live: bool) -> bool:
        """Checks the turn of a frame. Returns whether its turn.started is missing."""
        turn_id = frame.turn_id
        if turn_id is None:
            return False
        unheard = live and turn_id > self.latest
        if unheard:
            self._say("turn_not_started", f"turn {turn_id}")
            self.open = turn_id
        self._note(turn_id)
        if (
            live
            and turn_id in self.ends
            and not isinstance(frame, f.SessionSystemEvent)
            and parent_of(frame) is None
        ):
            self._say("after_complete", f"a frame of turn {turn_id}")
        return unheard

    def interrupted(self, turn_id: int | None) -> None:
        """Notes a conversation.interrupted."""
        self._interrupted.add(turn_id)

    def ended(self, turn_id: int, end: TurnEnd, mark: int, *, head: int, live: bool) -> bool:
        """Checks assistant.complete, live or replayed. Returns whether it is new."""
        if turn_id in self.ends:
            if live:
                self._say("complete_twice", f"turn {turn_id}")
            elif self.ends[turn_id].mark != mark:
                self._say("replay_differs", f"the end of turn {turn_id}")
            return False
        if live and turn_id > self.latest:
            self._say("turn_not_started", f"turn {turn_id}")
        self._note(turn_id)
        self.ends[turn_id] = End(mark, end)
        if self.open == turn_id:
            self.open = None
        if live and end.after_sequence != head:
            said = f"after_sequence {end.after_sequence}, but the newest entry is {head}"
            self._say("wrong_complete", said)
        was_stopped = turn_id in self._interrupted
        if end.interrupted is not was_stopped and (self.whole or was_stopped):
            said = "was" if was_stopped else "was not"
            self._say("wrong_complete", f"turn {turn_id} {said} interrupted")
        if end.is_error is not (end.error is not None):
            self._say("wrong_complete", f"turn {turn_id}: only one of is_error and error is set")
        return True


def parent_of(frame: f.Frame) -> str | None:
    """Returns the tool call of the sub-agent that sent the frame."""
    return getattr(frame.payload, "parent_tool_use_id", None)  # type: ignore[attr-defined]  # every kind of frame has one
