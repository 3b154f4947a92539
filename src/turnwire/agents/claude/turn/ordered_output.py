"""Emits events in order; delays them only while an interrupt receipt is completed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import structs

from turnwire.agents.claude.turn.stop_receipt import StopReceipt
from turnwire.agents.claude.turn.turn_tracker import TurnTracker
from turnwire.agents.guard import Running
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent

__all__ = ["OrderedOutput"]


class OrderedOutput:
    """Emits events in order. The end of an interrupted turn lists the processes that were ended.

    Those processes may take a moment to end; later events wait in a buffer meanwhile. `below` lists
    the running processes, the program first. `hand_over` emits events together; `start` runs a task
    that ends with the session.
    """

    def __init__(
        self,
        turn: TurnTracker,
        below: Callable[[], list[Running]],
        hand_over: Callable[[list[NormalizedStreamEvent]], None],
        start: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._turn = turn
        self._stopped = StopReceipt(below)
        self._hand_over = hand_over
        self._start = start
        self._late: list[NormalizedStreamEvent] | None = None  # events that wait for the receipt

    async def note_running(self) -> None:
        """Remembers the running processes; called before the turn is interrupted."""
        await self._stopped.look()

    def emit(self, events: list[NormalizedStreamEvent]) -> bool:
        """Emits events of the program. Returns False if the events wait for a receipt."""
        if self._late is not None:
            self._late += events
            return False
        if self._stopped.is_needed and any(map(_is_stopped, events)):
            self._late = events
            self._start(self._name_the_dead())
            return False
        if not self._turn.runs:
            self._stopped.forget()  # the turn ended before the interrupt
        self._hand_over(events)
        return True

    def add(self, event: NormalizedStreamEvent) -> None:
        """Emits an event of Turnwire itself, after all earlier events of the program."""
        if self._late is not None:
            self._late.append(event)
        else:
            self._hand_over([event])

    async def _name_the_dead(self) -> None:
        processes = await self._stopped.died()
        assert self._late is not None
        late, self._late = self._late, None
        self._hand_over(
            [
                structs.replace(event, processes=processes) if _is_stopped(event) else event
                for event in late
            ]
        )


def _is_stopped(event: NormalizedStreamEvent) -> bool:
    return isinstance(event, ev.TurnCompleted) and event.interrupted
