"""Recovers the conversations of dead owners, at the start and at regular intervals."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from turnwire.background import BackgroundTasks
from turnwire.core.error_codes import Refused
from turnwire.engine.ownership.registry import Ownership
from turnwire.ports import Clock, Damaged, Owned, StorageUnavailable, Store, Timer

__all__ = ["Recovery"]

_log = logging.getLogger("turnwire")
_TOGETHER = 100  # conversations that are recovered at once


class Recovery:
    """Conversations whose owner has died."""

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
        """Recovers all conversations that a crash has left."""
        unsettled = await self._store.unsettled()
        abandoned = await self._store.abandoned(now=self._clock.now())
        await self._look_after(list(dict.fromkeys([*unsettled, *abandoned])))

    def watch(self) -> None:
        """Sets the timer of the next check: another process may die at any time."""
        if not self._stopped:
            self._timer = self._clock.call_after(self._recheck, self._due)

    def stop(self) -> None:
        """Stops the checks."""
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
        """Recovers many conversations at once, so that their commits share transactions."""
        for first in range(0, len(conversation_ids), _TOGETHER):
            await asyncio.gather(*map(self._make_true, conversation_ids[first : first + _TOGETHER]))

    async def _make_true(self, conversation_id: str) -> None:
        # Another process owns it, or its agent is unavailable and its requests wait for it.
        with suppress(Owned, Refused):
            try:
                actor = await self._ownership.activate(conversation_id)
                self._ownership.rest(actor)  # if nothing else is to be done
            except Damaged as damaged:  # the other conversations are still recovered
                _log.error("%s", damaged.message)
