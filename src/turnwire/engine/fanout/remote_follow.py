"""Replays what another process writes: the bus gives a hint, then the log is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from functools import partial

from turnwire.core.error_codes import Refused
from turnwire.core.happenings import EntryAdded, Kept
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.fanout.channel import Channel
from turnwire.engine.fanout.log_pages import kept_since
from turnwire.ports import Bus, Clock, ConversationRow, Damaged, StorageUnavailable, Store, Timer

__all__ = ["RemoteFollow", "catch_up", "hint"]


def hint(bus: Bus, conversation_id: str, head: int) -> None:
    """Publishes a hint to other processes that the log has new entries."""
    reach(CrashPoint.HINTS)
    bus.publish(conversation_id, head)
    reach(CrashPoint.HINTED)


async def catch_up(channel: Channel, store: Store, row: ConversationRow, now: str) -> None:
    """Replays missed entries to a channel's followers, then sends the state of the row.

    The log does not contain the states in between, so they are not sent.
    """
    before = channel.state
    ended = before.last_turn_id or 0
    missed: list[Kept] = []
    async with aclosing(kept_since(store, row.state, before.head)) as pages:
        async for page in pages:
            missed += [
                kept for kept in page if isinstance(kept, EntryAdded) or kept.turn_id > ended
            ]
    if channel.state is before:  # not published by another task meanwhile
        reach(CrashPoint.CATCH_UP_PUBLISHES)
        channel.catch_up(row.state, missed, now)
        reach(CrashPoint.CATCH_UP_PUBLISHED)


class RemoteFollow:
    """Reads the log of another owner at every hint, and at regular intervals."""

    def __init__(
        self,
        channel: Channel,
        *,
        store: Store,
        bus: Bus,
        clock: Clock,
        recheck: float,
        is_ours: Callable[[], bool],
    ) -> None:
        self._channel = channel
        self._store = store
        self._clock = clock
        self._recheck = round(recheck * 1000)
        self._is_ours = is_ours
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._timer: Timer | None = None
        self._end = bus.subscribe(channel.state.conversation_id, lambda _: self.look())
        self._wait()

    def look(self) -> None:
        """Starts a read of the log, unless this process owns the conversation."""
        if self._is_ours():
            return
        if self._task is not None:
            self._again = True
            return
        self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        try:
            while True:
                self._again = False
                with suppress(StorageUnavailable, Damaged):  # the next read may succeed
                    row = await self._store.conversation(self._channel.state.conversation_id)
                    if row is None:
                        self._channel.finish(partial(Refused, "CONVERSATION_NOT_FOUND"))
                    elif not self._is_ours() and row.state != self._channel.state:
                        await catch_up(self._channel, self._store, row, iso(self._clock.now()))
                if not self._again:
                    return
        finally:
            self._task = None

    def _wait(self) -> None:
        self._timer = self._clock.call_after(self._recheck, self._tick)

    def _tick(self) -> None:
        self.look()
        self._wait()

    def close(self) -> None:
        """Ends the reads and the subscription to the bus."""
        self._end()
        if self._timer is not None:
            self._timer()
        if self._task is not None:
            self._task.cancel()
