"""Reads an agent session as the engine does, and lists the processes of the agent."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from turnwire.agents.guard import Running, descendants_of, running
from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import AgentGone, AgentSession
from turnwire.testing.agent_order import EventOrder

__all__ = ["REQUESTS", "AgentBroken", "Listener", "processes_below_us", "still_running"]

_Event = TypeVar("_Event", bound=ev.Event)

REQUESTS = (ev.QuestionAsked, ev.PermissionRequested)
"""The events that wait for a person."""


class AgentBroken(AssertionError):
    """Raised if an agent fails a check. The message says why."""


class Listener:
    """Reads a session continuously, as the engine does, and records its events."""

    def __init__(self, session: AgentSession, order: EventOrder, seconds: float) -> None:
        self.session = session
        self.order = order
        self.events: list[NormalizedStreamEvent] = []
        self.gone: AgentGone | None = None
        self.over = False
        self.replied: set[str] = set()  # the ids of the requests that have a reply
        self._seconds = seconds
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for batch in self.session.events():
                self.order.feed(batch)
                self.events += batch
                self._news.set()
        except AgentGone as gone:
            self.gone = gone
        finally:
            self.over = True
            self._news.set()

    async def until(self, done: Callable[[], bool], what: str) -> None:
        """Waits until `done()` is true. Raises AgentBroken at the end of events or the timeout."""
        try:
            async with asyncio.timeout(self._seconds):
                while not done():
                    if self.over:
                        why = f": {self.gone.message}" if self.gone else ""
                        raise AgentBroken(f"events() ended before {what}{why}")
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            last = ", ".join(_name(event) for event in self.events[-3:]) or "nothing"
            raise AgentBroken(
                f"no {what} after {self._seconds:g} seconds; the last events: {last}"
            ) from None

    async def turn_ends(self, number: int) -> list[NormalizedStreamEvent]:
        """Waits for the end of turn `number`, counted from 1. Returns all events so far."""
        await self.until(lambda: self.order.turns_ended >= number, f"end of turn {number}")
        return self.events

    async def until_over(self) -> None:
        """Waits for the end of events(). Raises AgentBroken at the timeout."""
        await asyncio.wait([self._task], timeout=self._seconds)
        if not self.over:
            raise AgentBroken("events() does not end after close()")

    def first(self, kind: type[_Event]) -> _Event | None:
        """Returns the first event of a type, or None."""
        return next((event for event in self.events if isinstance(event, kind)), None)

    def waiting(self) -> list[ev.QuestionAsked | ev.PermissionRequested]:
        """Returns the requests that have no reply yet."""
        requests = [event for event in self.events if isinstance(event, REQUESTS)]
        return [each for each in requests if each.request_id not in self.replied]

    async def stop(self) -> None:
        """Stops reading."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def processes_below_us() -> set[Running]:
    return set(descendants_of(os.getpid(), running()))


async def still_running(processes: set[Running], seconds: float) -> list[Running]:
    """Returns the processes that do not end within this time. Polls the process table."""
    deadline = asyncio.get_running_loop().time() + seconds
    known = {(process.pid, process.began) for process in processes}
    while True:
        now = [p for p in running().values() if (p.pid, p.began) in known and not p.dead]
        if not now or asyncio.get_running_loop().time() > deadline:
            return now
        await asyncio.sleep(0.01)


def _name(event: NormalizedStreamEvent) -> str:
    return str(event.__struct_config__.tag)
