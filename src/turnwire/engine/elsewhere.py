"""Following what another process writes: the bus is a hint, the log is the truth."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import structs

from turnwire.core import happenings as h
from turnwire.core.conversation.state import Conversation, status_of
from turnwire.core.error_codes import Refused
from turnwire.core.event_payloads import (
    Interrupted,
    PermissionAsked,
    RequestInput,
    RequestResolved,
    event_of,
    news_of,
)
from turnwire.core.message import Message, ToolCallPart, known_meta
from turnwire.core.status import BackgroundTask, QueueItem, Totals, with_turn
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.channel import Channel
from turnwire.ports import (
    Bus,
    Clock,
    ConversationRow,
    Damaged,
    RequestRow,
    StorageUnavailable,
    Store,
    StoredEntry,
    StoredTurn,
    Timer,
)

__all__ = ["Elsewhere", "catch_up", "hint"]


def hint(bus: Bus, conversation_id: str, head: int) -> None:
    """Tell those elsewhere that there is something to read."""
    reach(CrashPoint.HINTS)
    bus.publish(conversation_id, head)
    reach(CrashPoint.HINTED)


async def catch_up(channel: Channel, store: Store, row: ConversationRow, now: str) -> None:
    """Tell a channel's followers what the log has and they have not."""
    before, name = channel.state, row.conversation_id
    ended = [  # not those that have ended since the row was read: they come next time
        turn
        for turn in await store.turns(name, since=before.head)
        if (before.last_turn_id or 0) < turn.turn_id <= (row.state.last_turn_id or 0)
    ]
    news = _News(before, row.state, ended)
    after = before.head
    while after < row.head:
        page = await store.entries(name, after=after, before=row.head + 1)
        if not page:  # they are lost: to look for them again at once would never end
            break
        for stored in page:
            after = stored.sequence
            news.end_turns(after)
            asked = news.add(stored)
            if asked is not None:
                request = await store.request(name, asked)
                news.opened(stored.entry.timestamp, request)
    news.end_turns(row.head + 1)
    news.begin_silent(now)
    if channel.state is before:  # nobody else has told it meanwhile
        told = channel.changed(before, row.state, news.status, now)
        reach(CrashPoint.CATCH_UP_PUBLISHES)
        channel.publish(row.state, [*news.happened, *told])
        reach(CrashPoint.CATCH_UP_PUBLISHED)


class _News:
    """What happened elsewhere, with the states in between as far as the log shows them."""

    def __init__(self, before: Conversation, after: Conversation, ended: list[StoredTurn]) -> None:
        self.happened: list[h.Happening] = []
        self.status = status_of(before)  # as it was last told
        self._name = before.conversation_id
        self._started = before.turns
        self._after = after
        self._ended = deque(ended)
        self._queue: list[QueueItem] | None = None  # what is left in it by a turn that begins
        self._origins = {turn.turn_id: turn.end.origin for turn in ended}
        if after.turn is not None:
            self._origins[after.turn.turn_id] = after.turn.origin

    def end_turns(self, until: int) -> None:
        """Those that ended before this number."""
        while self._ended and self._ended[0].end.after_sequence < until:
            turn = self._ended.popleft()
            if turn.turn_id > self._started:  # it has said nothing
                self._start(turn.turn_id, turn.ended_at, turn.trace_id, None)
                self._runs(turn.ended_at)
            end, status = turn.end, self.status
            ended = h.TurnEnded(turn.ended_at, turn.turn_id, turn.trace_id, end)
            self.happened.append(ended)
            state = "interrupted" if end.interrupted else "error" if end.is_error else "active"
            self._tell(
                turn.ended_at,
                state="waiting_input" if status.requests else state,
                running=False,
                turn_id=None,
                last_turn=end,
                last_turn_id=turn.turn_id,
                totals=with_turn(status.totals or Totals(), end),
                queue_held=bool(status.queue) and self._is_held_after(turn),
            )

    def add(self, stored: StoredEntry) -> str | None:
        """An entry, and what it shows of the state. Returns what was asked with it, if anything."""
        entry, meta = stored.entry, known_meta(stored.entry)
        now = entry.timestamp
        starts = stored.turn_id is not None and stored.turn_id > self._started
        if starts:
            assert stored.turn_id is not None
            self._start(stored.turn_id, now, stored.trace_id, meta.client_message_id)
            if self._origins.get(stored.turn_id, "user") != "user":
                self._runs(now)  # nobody's words began it
        self.happened.append(h.EntryAdded(stored.sequence, entry, stored.trace_id))
        event = event_of(meta, stored.sequence) if entry.role == "system" else None
        asks = _question_in(entry)
        is_block = entry.role in ("assistant", "tool") and asks is None
        goes_on = is_block or isinstance(event, Interrupted)
        if starts:
            self._runs(now)
        elif goes_on and self.status.running and self.status.state == "active":
            self._tell(now, state="streaming")
        match event:
            case RequestInput(question_id=asks) | PermissionAsked(request_id=asks):
                pass
            case RequestResolved(request_id=ended):
                left = [each for each in self.status.requests if each.request_id != ended]
                self._tell(now, state="waiting_input" if left else "active", requests=left)
            case None if entry.role == "system":
                if news_of(meta)[0] == "init":
                    model, mode = self._after.model, self._after.permission_mode
                    self._tell(now, model=model, permission_mode=mode)
                else:
                    self._tell(now, background_tasks=self._tasks())
            case _:
                pass
        return asks

    def _tasks(self) -> list[BackgroundTask]:
        """The background work that goes on now, of the turns that have begun here."""
        return [task for task in self._after.background if (task.turn_id or 0) <= self._started]

    def begin_silent(self, now: str) -> None:
        """A turn that runs, of which the log has nothing yet."""
        turn = self._after.turn
        if turn is not None and turn.turn_id > self._started:
            said = turn.item.client_message_id if turn.item else None
            self._start(turn.turn_id, now, turn.trace_id, said)

    def _start(self, turn_id: int, now: str, trace_id: str | None, said: str | None) -> None:
        """A turn begins: with the first that waits, if it is one of those that do not wait any more.

        Whatever stood before it was taken out of the queue; that is told first.
        """
        self._started = turn_id
        origin = self._origins.get(turn_id, "user")
        first: QueueItem | None = None
        if origin == "user":
            still = {waiting.item.queue_id for waiting in self._after.queue}
            queue = self.status.queue
            gone = [n for n, item in enumerate(queue) if item.queue_id not in still]
            place = next((n for n in gone if queue[n].client_message_id == said), len(queue))
            self._tell(now, queue=queue[place:])
            first = next(iter(self.status.queue), None)
        queue_id = first.queue_id if first else None
        self.happened.append(h.TurnBegan(now, turn_id, trace_id, origin, queue_id, said))
        if first is not None:
            self._queue = self.status.queue[1:]

    def _runs(self, now: str) -> None:
        """The state of a turn that has just begun."""
        queue, held = self.status.queue, self.status.queue_held
        if self._queue is not None:  # it was the first of them: whatever held them does not now
            queue, held, self._queue = self._queue, False, None
        turn = {"running": True, "turn_id": self._started, "state": "streaming"}
        self._tell(now, **turn, reason=None, queue=queue, queue_held=held)

    def _is_held_after(self, turn: StoredTurn) -> bool:
        """Whether what waits has to wait on: behind the newest turn the state says it."""
        if self._after.turns == turn.turn_id:
            return self._after.held
        return self.status.queue_held or turn.end.is_error or turn.end.interrupted

    def opened(self, now: str, row: RequestRow | None) -> None:
        """A person was needed, and may still be."""
        if row is not None:
            requests = [*self.status.requests, row.request]
            self._tell(now, state="waiting_input", requests=requests)

    def _tell(self, now: str, **changes: Any) -> None:
        status = structs.replace(self.status, **changes)
        if status != self.status:
            self.status = status
            self.happened.append(h.StateChanged(now, status))


def _question_in(entry: Message) -> str | None:
    """The call that an entry tells, if the call is a question."""
    match entry.parts:
        case [ToolCallPart(payload=call)] if call.is_question:
            return call.tool_call_id
        case _:
            return None


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
                with suppress(StorageUnavailable, Damaged):  # the next look may see more
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
        """Nobody follows any more."""
        self._end()
        if self._timer is not None:
            self._timer()
        if self._task is not None:
            self._task.cancel()
