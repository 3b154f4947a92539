"""Time in which this process could run; on a busy machine it is less than the clock shows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_STEP = 0.02  # seconds


class OwnTime:
    """Counts the steps for which this process was given the processor."""

    steps = 0

    @property
    def seconds(self) -> float:
        return self.steps * _STEP

    async def count(self) -> None:
        while True:
            await asyncio.sleep(_STEP)
            self.steps += 1


@asynccontextmanager
async def own_time() -> AsyncIterator[OwnTime]:
    """Counts the time from here on."""
    taken = OwnTime()
    counting = asyncio.create_task(taken.count())
    try:
        yield taken
    finally:
        counting.cancel()
