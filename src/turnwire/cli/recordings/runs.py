"""Run ids and times for the messages of a recording."""

from __future__ import annotations

from collections.abc import Iterable

from turnwire.core.events import NormalizedStreamEvent, TurnStarted
from turnwire.core.message import run_id

__all__ = ["NO_TIME", "Runs", "first_time"]

NO_TIME = "1970-01-01T00:00:00.000Z"


def first_time(events: Iterable[NormalizedStreamEvent]) -> str:
    """Returns the first timestamp among the events. Returns NO_TIME if none has one."""
    times = (getattr(event, "timestamp", None) for event in events)
    return next((time for time in times if time), NO_TIME)


class Runs:
    """Derives run ids from the agent's session and the number of the turn, counted from 1.

    `now` is the latest timestamp of a line, because deltas have no time of their own.
    """

    def __init__(self) -> None:
        self._turn = 0
        self.now = NO_TIME

    def of(self, event: NormalizedStreamEvent) -> str:
        """Returns the run id of an event. The caller passes every event, in order."""
        if isinstance(event, TurnStarted):
            self._turn += 1
        self.now = getattr(event, "timestamp", None) or self.now
        return run_id(event.session_id or "session", max(self._turn, 1))
