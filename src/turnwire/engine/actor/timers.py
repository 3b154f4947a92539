"""The timers of one conversation, by name: deadlines of requests, and durations."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.core.conversation import inputs as i
from turnwire.ports import Clock, Timer

__all__ = ["DEADLINE", "Timers", "passed_timer"]

DEADLINE = "deadline:"  # the names of the timers of requests begin with this


class Timers:
    """Calls `fire` with the name of each timer that has passed."""

    def __init__(self, clock: Clock, fire: Callable[[str], None]) -> None:
        self._clock = clock
        self._fire = fire
        self._timers: dict[str, Timer] = {}

    @property
    def keep_in_memory(self) -> bool:
        """Whether a timer runs that only this process fires. Any process fires deadlines."""
        return any(not name.startswith(DEADLINE) for name in self._timers)

    def set(self, name: str, at: int) -> None:
        """Sets a timer. It replaces the one with the same name."""
        self.cancel(name)
        self._timers[name] = lambda: None
        if name.startswith(DEADLINE):  # a time of day, by the clock
            timer = self._clock.call_at(at, lambda: self._passed(name))
        else:  # a duration, which must not change when the clock is set
            left = at - self._clock.now()
            timer = self._clock.call_after(left, lambda: self._passed(name))
        if name in self._timers:  # else it has fired already
            self._timers[name] = timer

    def cancel(self, name: str) -> None:
        """Cancels a timer, if it is set."""
        cancel = self._timers.pop(name, None)
        if cancel is not None:
            cancel()

    def cancel_all(self) -> None:
        """Cancels all timers."""
        for cancel in self._timers.values():
            cancel()
        self._timers.clear()

    def _passed(self, name: str) -> None:
        self._timers.pop(name, None)
        self._fire(name)


def passed_timer(name: str, now: int) -> i.Input | None:
    """Returns what a timer that has passed means. None: the agent was idle for long enough."""
    kind, _, which = name.partition(":")
    match kind:
        case "deadline":
            return i.DeadlinePassed(at=now, request_id=which)
        case "stop":
            return i.StopOverdue(at=now, turn_id=int(which))
        case "grace":
            return i.GraceOver(at=now)
        case _:
            return None
