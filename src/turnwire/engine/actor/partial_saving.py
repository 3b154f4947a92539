"""Saves partials in the background, so that text people have read survives a crash."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from turnwire.core.growing import Growing
from turnwire.core.partials import BlockName, Partial
from turnwire.crash_points import CrashPoint, reach
from turnwire.ports import Claim, Clock, Fenced, StorageUnavailable, Store, Timer

__all__ = ["Saving"]

_log = logging.getLogger("turnwire")

# Maximum characters in one write. Other commits run between two writes, so none waits long.
_MOST = 128 * 1024
# Conversations save at the same tenths of a period, so that their saves share transactions.
_MOMENTS = 10


class Saving:
    """Saves the partials of one conversation, each block at most once in a period.

    A save contains only the text since the last one, so the cost is proportional to the text. No
    step waits for a save. A block that is finished within a period is never saved.
    """

    def __init__(
        self,
        growing: Growing,
        claim: Claim,
        *,
        store: Store,
        clock: Clock,
        period: int,
        lost: Callable[[], None],
    ) -> None:
        """`period`: milliseconds; 0 turns saving off. `lost` is called if the claim is lost."""
        self._growing = growing
        self._claim = claim
        self._store = store
        self._clock = clock
        self._period = period
        self._lost = lost
        self._saved: set[BlockName] = set()  # blocks with partials in the store
        self._timer: Timer | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_over = False

    def look(self) -> None:
        """Sets the timer if a block has grown. Call it after the partials are published."""
        if not self._growing.has_grown or self._timer or self._task or self._is_over:
            return
        if self._period:
            moment = max(1, self._period // _MOMENTS)
            left = self._period - self._clock.now() % moment
            self._timer = self._clock.call_after(left, self._due)

    def found(self, partials: Iterable[Partial]) -> None:
        """Remembers the blocks that an earlier owner has saved."""
        self._saved.update(partial.block for partial in partials)

    def ended(self) -> list[BlockName]:
        """Returns the finished blocks that still have partials in the store."""
        if not self._saved:
            return []
        return [block for block in self._saved if not self._growing.is_open(block)]

    def forget(self, blocks: Iterable[BlockName]) -> None:
        """Forgets blocks whose partials were deleted from the store."""
        self._saved.difference_update(blocks)

    async def stop(self) -> None:
        """Stops saving, and waits for a running save."""
        self._is_over = True
        if self._timer is not None:
            self._timer()
            self._timer = None
        if self._task is not None:
            await asyncio.wait([self._task])

    def _due(self) -> None:
        self._timer = None
        left = self._growing.unsaved_length()
        if left:
            self._task = asyncio.create_task(self._save(left), name="turnwire partials")

    async def _save(self, left: int) -> None:
        try:
            while left > 0 and not self._is_over:
                some = self._growing.take_unsaved(min(left, _MOST))
                if not some:  # the blocks are finished
                    break
                left -= sum(len(partial.text) for partial in some)
                await self._write(some)
        except Fenced:
            self._lost()
        except StorageUnavailable:  # the next save retries; other commits report the failure
            pass
        except Exception:
            _log.exception(
                "conversation %s: partials could not be saved", self._claim.conversation_id
            )
        finally:
            self._task = None
        self.look()

    async def _write(self, some: Sequence[Partial]) -> None:
        self._saved.update(partial.block for partial in some)
        try:
            reach(CrashPoint.SAVES)
            await self._store.save_partials(self._claim, some)
            reach(CrashPoint.SAVED)
        except BaseException:
            self._growing.not_saved(some)
            raise
