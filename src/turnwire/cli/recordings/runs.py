"""Runs and times for messages: what a conversation would know, and a recording says now and then."""

from __future__ import annotations

from collections.abc import Iterable

from turnwire.core.events import NormalizedStreamEvent, TurnStarted
from turnwire.core.message import run_id

__all__ = ["NO_TIME", "Runs", "first_time"]

NO_TIME = "1970-01-01T00:00:00.000Z"


def first_time(events: Iterable[NormalizedStreamEvent]) -> str:
    """The first time that any of them says; the beginning of a recording says none."""
    times = (getattr(event, "timestamp", None) for event in events)
    return next((time for time in times if time), NO_TIME)


class Runs:
    """The conversation is the agent's session, and its turns are counted from 1.

    The time is the latest that a line has said, because deltas have none of their own.
    """

    def __init__(self) -> None:
        self._turn = 0
        self.now = NO_TIME

    def of(self, event: NormalizedStreamEvent) -> str:
        """The run an event belongs to. Give it every event, in order."""
        if isinstance(event, TurnStarted):
            self._turn += 1
        self.now = getattr(event, "timestamp", None) or self.now
        return run_id(event.session_id or "session", max(self._turn, 1))
