"""What was missed, read from the log; of many who come at once, once for all."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing

from turnwire.core.conversation.state import Conversation
from turnwire.core.times import iso
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.opening import replayed
from turnwire.dialects.v2.project import frame_of
from turnwire.engine.channel import FollowAgain, Sent
from turnwire.engine.pace import LongWork
from turnwire.engine.pages import pages_of
from turnwire.ports import Clock, Store, StoredEntry, StoredTurn

__all__ = ["Replays"]

_KEPT = 500  # entries of a replay that is kept for others; a longer one is read for each of them
_GOOD_FOR = 1000  # milliseconds that a replay is given to others, too
_MOST = 32  # of them are kept


class _Shared:
    """A replay that others may want as well."""

    def __init__(self, state: Conversation, until: int, frames: asyncio.Task[list[Sent]]) -> None:
        self.state = state
        self.until = until
        self.frames = frames


class Replays:
    """Replays of a store. After a network has been away, a thousand clients want the same one."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._shared: OrderedDict[tuple[str, int], _Shared] = OrderedDict()

    @property
    def epoch(self) -> str:
        """The log that they are of."""
        return self._store.epoch

    def check_epoch(self, epoch: str) -> None:
        """Raises FollowAgain if the log is not that one any more."""
        _check_epoch(self._store, epoch)

    async def since(self, state: Conversation, after: int) -> AsyncGenerator[Iterable[Sent], None]:
        """Everything after a number, up to this state's head, with the ends of turns; in pages.

        The frames of a page are made while it is gone through: give way in between.
        """
        now = self._clock.now()
        if state.head - after > _KEPT:  # too much to be kept
            async with aclosing(_missed(self._store, state, after, iso(now))) as pages:
                async for page in pages:
                    yield page
            return
        key = (state.conversation_id, after)
        shared = self._shared.get(key)
        if shared is None or shared.state is not state or not now < shared.until <= now + _GOOD_FOR:
            reading = asyncio.create_task(self._read(state, after, iso(now)))
            shared = self._shared[key] = _Shared(state, now + _GOOD_FOR, reading)
            self._shared.move_to_end(key)
            self._clock.call_after(_GOOD_FOR, self._forget)
            if len(self._shared) > _MOST:
                self._shared.popitem(last=False)
        yield await asyncio.shield(shared.frames)

    async def _read(self, state: Conversation, after: int, now: str) -> list[Sent]:
        work = LongWork()
        out: list[Sent] = []
        async with aclosing(_missed(self._store, state, after, now)) as pages:
            async for page in pages:
                for sent in page:
                    if work.is_due:
                        await work.give_way()
                    out.append(sent)
        return out

    def _forget(self) -> None:
        now = self._clock.now()
        for key in [key for key, shared in self._shared.items() if shared.until <= now]:
            del self._shared[key]


def _check_epoch(store: Store, epoch: str) -> None:
    """What was told is of one log. Another one in its place is told from its start."""
    if store.epoch != epoch:
        raise FollowAgain("The log was replaced by another; follow again.")


async def _missed(
    store: Store, state: Conversation, after: int, now: str
) -> AsyncGenerator[Iterable[Sent], None]:
    """What was missed, page by page; the end of a turn stands behind the entry that it follows.

    A turn that had not ended then may have ended since, without another entry: that comes live.
    """
    conversation_id, head, epoch = state.conversation_id, state.head, store.epoch
    ends = iter(
        turn
        for turn in await store.turns(conversation_id, since=after)
        if turn.turn_id <= (state.last_turn_id or 0)
    )
    end = next(ends, None)

    def ended(turn: StoredTurn) -> Sent:
        ids = (conversation_id, turn.turn_id, None, turn.ended_at, turn.trace_id)
        return Sent(replayed(f.AssistantComplete(*ids, turn.end), now))

    def frames(page: list[StoredEntry]) -> Iterator[Sent]:
        nonlocal end
        for stored in page:
            number = stored.sequence
            while end is not None and end.end.after_sequence < number:
                yield ended(end)
                end = next(ends, None)
            event = frame_of(stored.entry, number, conversation_id, stored.trace_id)
            yield Sent(replayed(event, now))

    async with aclosing(pages_of(store, conversation_id, after, head)) as pages:
        async for page in pages:
            _check_epoch(store, epoch)
            yield frames(page)
    if end is not None:
        yield [ended(turn) for turn in (end, *ends) if turn.end.after_sequence <= head]
