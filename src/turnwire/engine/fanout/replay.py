"""What was missed, read from the log; of many who come at once, once for all."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import Any

from turnwire.core.conversation.state import Conversation
from turnwire.core.happenings import Kept
from turnwire.core.times import iso
from turnwire.engine.fanout.channel import FollowAgain
from turnwire.engine.fanout.log_pages import kept_since
from turnwire.long_work import LongWork
from turnwire.ports import Clock, Projector, Store

__all__ = ["Replays"]

_KEPT = 500  # entries of a replay that is kept for others; a longer one is read for each of them
_GOOD_FOR = 1000  # milliseconds that a replay is given to others, too
_MOST = 32  # of them are kept


class _Shared:
    """A replay that others may want as well."""

    def __init__(self, state: Conversation, until: int, messages: asyncio.Task[list[Any]]) -> None:
        self.state = state
        self.until = until
        self.messages = messages


class Replays:
    """Replays of a store. After a network has been away, a thousand clients want the same one."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._shared: OrderedDict[tuple[str, int, Projector], _Shared] = OrderedDict()

    @property
    def epoch(self) -> str:
        """The log that they are of."""
        return self._store.epoch

    def check_epoch(self, epoch: str) -> None:
        """Raises FollowAgain if the log is not that one any more."""
        _check_epoch(self._store, epoch)

    async def since(
        self, state: Conversation, after: int, projector: Projector
    ) -> AsyncGenerator[Iterable[Any], None]:
        """Everything after a number, up to this state's head, with the ends of turns; in pages.

        The messages of a page are made while it is gone through: give way in between.
        """
        now = self._clock.now()
        if state.head - after > _KEPT:  # too much to be kept
            async with aclosing(_missed(self._store, state, after, projector, iso(now))) as pages:
                async for page in pages:
                    yield page
            return
        key = (state.conversation_id, after, projector)
        shared = self._shared.get(key)
        if shared is None or shared.state is not state or not now < shared.until <= now + _GOOD_FOR:
            reading = asyncio.create_task(self._read(state, after, projector, iso(now)))
            reading.add_done_callback(_note_failure)
            shared = self._shared[key] = _Shared(state, now + _GOOD_FOR, reading)
            self._shared.move_to_end(key)
            self._clock.call_after(_GOOD_FOR, self._forget)
            if len(self._shared) > _MOST:
                self._shared.popitem(last=False)
        yield await asyncio.shield(shared.messages)

    async def _read(
        self, state: Conversation, after: int, projector: Projector, now: str
    ) -> list[Any]:
        work = LongWork()
        out: list[Any] = []
        async with aclosing(_missed(self._store, state, after, projector, now)) as pages:
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


def _note_failure(reading: asyncio.Task[Any]) -> None:
    """Looks at how it ended: all clients that waited may have gone, and asyncio reports an error that was not looked at."""
    if not reading.cancelled():
        reading.exception()


def _check_epoch(store: Store, epoch: str) -> None:
    """What was told is of one log. Another one in its place is told from its start."""
    if store.epoch != epoch:
        raise FollowAgain("The log was replaced by another; follow again.")


async def _missed(
    store: Store, state: Conversation, after: int, projector: Projector, now: str
) -> AsyncGenerator[Iterable[Any], None]:
    """Yields the messages that a client has missed, page by page. What is not in the state comes live."""
    epoch = store.epoch

    def messages(page: list[Kept]) -> Iterator[Any]:
        for kept in page:
            yield from projector.replay(kept, now)

    async with aclosing(kept_since(store, state, after)) as pages:
        async for page in pages:
            _check_epoch(store, epoch)
            yield messages(page)
