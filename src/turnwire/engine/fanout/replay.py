"""Replays of missed entries, read from the log once for all followers that need the same ones."""

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

_KEPT = 500  # maximum entries of a shared replay; a longer one is read for each follower
_GOOD_FOR = 1000  # milliseconds that a replay is shared
_MOST = 32  # maximum number of shared replays


class _Shared:
    """A replay that several followers share."""

    def __init__(self, state: Conversation, until: int, messages: asyncio.Task[list[Any]]) -> None:
        self.state = state
        self.until = until
        self.messages = messages


class Replays:
    """Replays from a store. After a network failure, many clients need the same replay."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._shared: OrderedDict[tuple[str, int, Projector], _Shared] = OrderedDict()

    @property
    def epoch(self) -> str:
        """The id of the current log."""
        return self._store.epoch

    def check_epoch(self, epoch: str) -> None:
        """Raises FollowAgain if the log was replaced."""
        _check_epoch(self._store, epoch)

    async def since(
        self, state: Conversation, after: int, projector: Projector
    ) -> AsyncGenerator[Iterable[Any], None]:
        """Yields the messages after a sequence, up to this state's head, in pages.

        Messages are created while a page is iterated: the caller has to yield to the event loop.
        """
        now = self._clock.now()
        if state.head - after > _KEPT:  # too long to be shared
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
    """Retrieves the exception, which asyncio would log if no follower waits any more."""
    if not reading.cancelled():
        reading.exception()


def _check_epoch(store: Store, epoch: str) -> None:
    """Raises FollowAgain if the log was replaced: a new log is read from its start."""
    if store.epoch != epoch:
        raise FollowAgain("The log was replaced by another one; follow again.")


async def _missed(
    store: Store, state: Conversation, after: int, projector: Projector, now: str
) -> AsyncGenerator[Iterable[Any], None]:
    """Yields the messages that a client has missed, in pages. Later messages come live."""
    epoch = store.epoch

    def messages(page: list[Kept]) -> Iterator[Any]:
        for kept in page:
            yield from projector.replay(kept, now)

    async with aclosing(kept_since(store, state, after)) as pages:
        async for page in pages:
            _check_epoch(store, epoch)
            yield messages(page)
