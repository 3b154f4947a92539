"""Work that nobody waits for, until the engine stops."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

__all__ = ["Errands"]


class Errands:
    """Tasks beside everything else, held until they are done."""

    def __init__(self) -> None:
        self.under_way: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Have it done soon."""
        task = asyncio.create_task(work)
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        return task

    async def done(self) -> None:
        """Wait for those that are under way."""
        await asyncio.gather(*self.under_way)
