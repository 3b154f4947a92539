"""Reading a session as the engine does, and seeing which processes there are."""

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

__all__ = ["AgentBroken", "Listener", "processes_below_us", "still_running"]

_Event = TypeVar("_Event", bound=ev.Event)


class AgentBroken(AssertionError):
    """The promises that the agent does not keep."""


class Listener:
    """Reads a session as the engine does: all the time, into what can be asked later."""

    def __init__(self, session: AgentSession, order: EventOrder, seconds: float) -> None:
        self.session = session
        self.order = order
        self.events: list[NormalizedStreamEvent] = []
        self.gone: AgentGone | None = None
        self.over = False
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
        """Wait for something to be heard."""
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
        """Wait for the end of this turn of the session, from 1; returns all that was heard."""
        await self.until(lambda: self.order.turns_ended >= number, f"end of turn {number}")
        return self.events

    async def until_over(self) -> None:
        """Wait for the end of events()."""
        await asyncio.wait([self._task], timeout=self._seconds)
        if not self.over:
            raise AgentBroken("events() goes on after close()")

    def first(self, kind: type[_Event]) -> _Event | None:
        """The first event of a kind."""
        return next((event for event in self.events if isinstance(event, kind)), None)

    async def stop(self) -> None:
        """Nobody reads any more."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def processes_below_us() -> set[Running]:
    return set(descendants_of(os.getpid(), running()))


async def still_running(processes: set[Running], seconds: float) -> list[Running]:
    """Those that do not end in this time. Whoever reads the table has to ask again and again."""
    deadline = asyncio.get_running_loop().time() + seconds
    known = {(process.pid, process.began) for process in processes}
    while True:
        now = [p for p in running().values() if (p.pid, p.began) in known and not p.dead]
        if not now or asyncio.get_running_loop().time() > deadline:
            return now
        await asyncio.sleep(0.01)


def _name(event: NormalizedStreamEvent) -> str:
    return str(event.__struct_config__.tag)
