"""What owners that died left behind is looked after: at the start, and then now and again."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from turnwire.background import BackgroundTasks
from turnwire.core.error_codes import Refused
from turnwire.engine.ownership.registry import Ownership
from turnwire.ports import Clock, Damaged, Owned, StorageUnavailable, Store, Timer

__all__ = ["LeftBehind"]

_log = logging.getLogger("turnwire")
_TOGETHER = 100  # conversations that are looked after at once


class LeftBehind:
    """Conversations that seem to be in somebody's hands, and are not."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        recheck: float,
        ownership: Ownership,
        background: BackgroundTasks,
    ) -> None:
        self._store = store
        self._clock = clock
        self._recheck = round(recheck * 1000)
        self._ownership = ownership
        self._background = background
        self._timer: Timer | None = None
        self._stopped = False

    async def recover(self) -> None:
        """Find what a crash has left, and make it true again."""
        unsettled = await self._store.unsettled()
        abandoned = await self._store.abandoned(now=self._clock.now())
        await self._look_after(list(dict.fromkeys([*unsettled, *abandoned])))

    def watch(self) -> None:
        """Another process may die at any time: what it leaves is looked after, too."""
        if not self._stopped:
            self._timer = self._clock.call_after(self._recheck, self._due)

    def stop(self) -> None:
        """Leave it to others."""
        self._stopped = True
        if self._timer is not None:
            self._timer()

    def _due(self) -> None:
        self._background.run(self._look())
        self.watch()

    async def _look(self) -> None:
        with suppress(StorageUnavailable):
            await self._look_after(await self._store.abandoned(now=self._clock.now()))

    async def _look_after(self, conversation_ids: list[str]) -> None:
        """Many at a time: then they are written together."""
        for first in range(0, len(conversation_ids), _TOGETHER):
            await asyncio.gather(*map(self._make_true, conversation_ids[first : first + _TOGETHER]))

    async def _make_true(self, conversation_id: str) -> None:
        # Another live process sees to it; or its agent is not here, and what is left waits for it.
        with suppress(Owned, Refused):
            try:
                live = await self._ownership.activate(conversation_id)
                self._ownership.rest(live)  # if that was all
            except Damaged as damaged:  # the others are looked after all the same
                _log.error("%s", damaged.message)
