"""The receipt of an interrupt: the processes that ran before it and have ended since."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnwire.agents.guard import Running
from turnwire.core.events import EndedProcess

__all__ = ["StopReceipt"]

_PATIENCE = 0.5  # seconds; the turn ends before the last process has ended
_LOOK = 0.01  # seconds between two checks


class StopReceipt:
    """Call `look` before a stop, `died` after it. `below` lists processes, the program first."""

    def __init__(self, below: Callable[[], list[Running]]) -> None:
        self._below = below
        self._ran: list[Running] = []

    @property
    def is_needed(self) -> bool:
        """Whether other processes ran than the program itself."""
        return len(self._ran) > 1

    async def look(self) -> None:
        """Remembers the running processes, unless this stop was requested before."""
        if not self._ran:
            self._ran = await asyncio.to_thread(self._below)

    def forget(self) -> None:
        """Discards the remembered processes, because no turn was stopped."""
        self._ran = []

    async def died(self) -> list[EndedProcess]:
        """Returns the remembered processes that have ended. Waits for their children."""
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
