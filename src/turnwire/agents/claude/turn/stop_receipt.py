"""What ran when a program was told to stop, and does not any more: the receipt of the stop names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnwire.agents.guard import Running
from turnwire.core.events import EndedProcess

__all__ = ["StopWatch"]

_PATIENCE = 0.5  # seconds; the program says that it has stopped before the last of them is gone
_LOOK = 0.01  # seconds between two looks


class StopWatch:
    """`look` before the stop, `died` after it. `below` lists what runs, the program first."""

    def __init__(self, below: Callable[[], list[Running]]) -> None:
        self._below = below
        self._ran: list[Running] = []

    @property
    def is_needed(self) -> bool:
        """Whether more ran than the program itself."""
        return len(self._ran) > 1

    async def look(self) -> None:
        """Remember what runs now, unless this stop was asked for before."""
        if not self._ran:
            self._ran = await asyncio.to_thread(self._below)

    def forget(self) -> None:
        """Nothing was stopped."""
        self._ran = []

    async def died(self) -> list[EndedProcess]:
        """Those of them that are gone. What lost its parent just now is on its way out as well."""
        ran, self._ran = self._ran, []
        dead: list[Running] = []
        deadline = asyncio.get_running_loop().time() + _PATIENCE
        while asyncio.get_running_loop().time() < deadline:
            left = {(each.pid, each.began) for each in await asyncio.to_thread(self._below)}
            dead = [each for each in ran if (each.pid, each.began) not in left]
            gone = {each.pid for each in dead}
            if dead and all(each in dead for each in ran if each.parent in gone):
                break
            await asyncio.sleep(_LOOK)
        return [EndedProcess(each.pid, each.name) for each in dead]
