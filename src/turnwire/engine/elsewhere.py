"""Following what another process writes: the bus is a hint, the log is the truth."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2.project import frame_of
from turnwire.engine.channel import Channel
from turnwire.ports import Bus, Clock, ConversationRow, StorageUnavailable, Store, Timer

__all__ = ["Elsewhere", "catch_up"]


async def catch_up(channel: Channel, store: Store, row: ConversationRow, now: str) -> None:
    """Tell a channel's followers what the log has and they have not."""
    before = channel.state
    name = row.conversation_id
    going = {waiting.turn_id for waiting in row.state.queue}  # it may have ended since the row
    going |= {row.state.turn.turn_id} if row.state.turn is not None else set()
    ended = deque(
        turn
        for turn in await store.turns(name, since=before.head)
        if (before.last_turn_id or 0) < turn.turn_id <= row.state.turns
        and turn.turn_id not in going
    )
    origins = {turn.turn_id: turn.end.origin for turn in ended}
    frames: list[f.Frame] = []
    started = before.turns

    def end_turns(until: int) -> None:
        while ended and ended[0].end.after_sequence < until:
            turn = ended.popleft()
            ids = (name, turn.turn_id, None, turn.ended_at, turn.trace_id)
            frames.append(f.AssistantComplete(*ids, turn.end))

    after = before.head
    while after < row.head:
        for stored in await store.entries(name, after=after, before=row.head + 1):
            after = stored.sequence
            end_turns(after)
            if stored.turn_id is not None and stored.turn_id > started:
                started = stored.turn_id
                start = p.TurnStart(started, origins.get(started, "user"))
                ids = (name, started, None, stored.entry.timestamp, stored.trace_id)
                frames.append(f.TurnStarted(*ids, start))
            frames.append(frame_of(stored.entry, after, name, stored.trace_id))
    end_turns(row.head + 1)
    if channel.state is before:  # nobody else has told it meanwhile
        reach(CrashPoint.CATCH_UP_PUBLISHES)
        channel.publish([*frames, *channel.changed(row.state, now)])
        reach(CrashPoint.CATCH_UP_PUBLISHED)


class Elsewhere:
    """Looks at the log whenever something may have happened, and now and then anyway."""

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
        """Something may have happened."""
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
                with suppress(StorageUnavailable):  # the next look may see more
                    row = await self._store.conversation(self._channel.state.conversation_id)
                    if row is not None and not self._is_ours() and row.state != self._channel.state:
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
        """Nobody follows any more."""
        self._end()
        if self._timer is not None:
            self._timer()
        if self._task is not None:
            self._task.cancel()
