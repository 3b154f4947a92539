"""Runs and times for messages: what a conversation would know, and a recording says now and then."""

from __future__ import annotations

from turnwire.core.events import NormalizedStreamEvent, TurnStarted
from turnwire.core.message import run_id

__all__ = ["Runs"]


class Runs:
    """The conversation is the agent's session, and its turns are counted from 1.

    The time is the latest that a line has said, because deltas have none of their own.
    """

    def __init__(self) -> None:
        self._turn = 0
        self.now = "1970-01-01T00:00:00.000Z"

    def of(self, event: NormalizedStreamEvent) -> str:
        """The run an event belongs to. Give it every event, in order."""
        if isinstance(event, TurnStarted):
            self._turn += 1
        self.now = getattr(event, "timestamp", None) or self.now
        return run_id(event.session_id or "session", max(self._turn, 1))
