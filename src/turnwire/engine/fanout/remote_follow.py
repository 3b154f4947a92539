"""Follows what another process writes: its node sends it, or the log is read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from functools import partial

from turnwire.core.conversation.state import Conversation
from turnwire.core.error_codes import Refused
from turnwire.core.happenings import EntryAdded, Kept
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.fanout.channel import Channel
from turnwire.engine.fanout.log_pages import kept_since
from turnwire.ports import Clock, ConversationRow, Damaged, StorageUnavailable, Store

__all__ = ["RemoteFollow", "catch_up", "missed_by"]


async def missed_by(channel: Channel, store: Store, state: Conversation) -> list[Kept]:
    """Returns the items of the log that the followers of a channel miss, up to a state."""
    before = channel.state
    ended = before.last_turn_id or 0
    missed: list[Kept] = []
    async with aclosing(kept_since(store, state, before.head)) as pages:
        async for page in pages:
            missed += [
                kept for kept in page if isinstance(kept, EntryAdded) or kept.turn_id > ended
            ]
    return missed


async def catch_up(channel: Channel, store: Store, row: ConversationRow, now: str) -> bool:
    """Replays missed entries to a channel's followers, then sends the state of the row.

    The log does not contain the states in between, so they are not sent. Returns False, and sends
    nothing, if the followers have got something from another task or node since the row was read:
    they would get entries twice.
    """
    before = channel.state
    if row.state.head < before.head:
        return False
    missed = await missed_by(channel, store, row.state)
    if channel.state is not before or channel.remote is not None:
        return False
    reach(CrashPoint.CATCH_UP_PUBLISHES)
    channel.catch_up(row.state, missed, now)
    reach(CrashPoint.CATCH_UP_PUBLISHED)
    return True


class RemoteFollow:
    """Keeps the followers of a conversation up to date that this process does not run.

    While the owner's node sends what happens, nothing is read. Otherwise the log is read when
    another node has news, or when the version of the conversation has changed.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        store: Store,
        clock: Clock,
        is_ours: Callable[[], bool],
        attach: Callable[[Channel, ConversationRow], bool],
        is_archived: bool,
    ) -> None:
        """`attach` asks the owner of a row to send what happens. Returns whether it has one.

        `is_archived`: the conversation was archived already when it was followed.
        """
        self._was_archived = is_archived
        self._channel = channel
        self._store = store
        self._clock = clock
        self._is_ours = is_ours
        self._attach = attach
        self._task: asyncio.Task[None] | None = None
        self._again = False
        self._newest: int | None = None  # the newest known version of the conversation
        self._read_at: int | None = None  # the version that was known when it was read

    @property
    def is_needed(self) -> bool:
        """Whether only the log tells this process what happens."""
        return not self._is_ours() and self._channel.remote is None

    def compare(self, version: int | None) -> None:
        """Starts a read of the log if the conversation has another version than the one read.

        `version`: None means that the conversation does not exist.
        """
        if version is None or version != self._read_at:
            self._newest = version
            self.look()

    def look(self) -> None:
        """Starts a read of the log, unless this process owns the conversation or is attached."""
        if not self.is_needed:
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
                    await self._read()
                if not self._again:
                    return
        finally:
            self._task = None

    async def _read(self) -> None:
        channel, version = self._channel, self._newest
        row = await self._store.conversation(channel.state.conversation_id)
        if row is None:
            channel.finish(partial(Refused, "CONVERSATION_NOT_FOUND"))
        elif row.archived and not self._was_archived:  # another node has told its followers
            channel.finish(partial(Refused, "CONVERSATION_CLOSED"))
        elif not self.is_needed or self._attach(channel, row):
            self._read_at = None
        elif (channel.is_stale or row.state != channel.state) and not await catch_up(
            channel, self._store, row, iso(self._clock.now())
        ):
            self._again = True
        else:
            # An owner that did not answer is asked again, although nothing has changed.
            self._read_at = version if row.owner is None else None

    def close(self) -> None:
        """Ends the reads."""
        if self._task is not None:
            self._task.cancel()
