"""The channels of all conversations that this process runs or follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from turnwire.background import BackgroundTasks
from turnwire.engine.fanout.channel import Channel
from turnwire.engine.fanout.remote_follow import RemoteFollow
from turnwire.ports import Clock, ConversationRow, StorageUnavailable, Store, Timer

__all__ = ["Channels"]

_TOGETHER = 1_000  # conversations whose versions are read in one query


class Channels:
    """Channels by conversation. A channel with followers replays what other processes write."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        recheck: float,
        background: BackgroundTasks,
        attach: Callable[[Channel, ConversationRow], bool],
        detach: Callable[[str], None],
    ) -> None:
        """`recheck`: seconds between two checks for what other processes have written.

        `attach` asks the owner of a row to send what happens; `detach` ends that.
        """
        self._store = store
        self._clock = clock
        self._recheck = round(recheck * 1000)
        self._background = background
        self._attach = attach
        self._detach = detach
        self._channels: dict[str, Channel] = {}
        self._remote: dict[str, RemoteFollow] = {}
        self._timer: Timer | None = None  # set while there are followers
        self._is_checking = False

    def get(self, conversation_id: str) -> Channel | None:
        """Returns the channel of a conversation. Returns None if it has none."""
        return self._channels.get(conversation_id)

    def of(self, row: ConversationRow) -> Channel:
        """Returns the channel of a conversation. A new channel begins with the state of the row."""
        channel = self._channels.get(row.conversation_id)
        if channel is None:
            channel = self._channels[row.conversation_id] = Channel(row.state)
        return channel

    def all(self) -> list[Channel]:
        """Returns all channels."""
        return list(self._channels.values())

    def follow_remote(
        self, channel: Channel, is_ours: Callable[[], bool], *, is_archived: bool
    ) -> None:
        """Replays what other processes write, while this process does not run the conversation."""
        name = channel.state.conversation_id
        if name not in self._remote:
            self._remote[name] = RemoteFollow(
                channel,
                store=self._store,
                clock=self._clock,
                is_ours=is_ours,
                attach=self._attach,
                is_archived=is_archived,
            )
            if self._timer is None:
                self._timer = self._clock.call_after(self._recheck, self._due)

    def _due(self) -> None:
        self._timer = None
        if not self._remote:
            return
        self._timer = self._clock.call_after(self._recheck, self._due)
        if not self._is_checking:
            self._is_checking = True
            self._background.run(self._check())

    async def _check(self) -> None:
        """Compares the versions of all conversations that only the log tells of."""
        try:
            names = [name for name, remote in self._remote.items() if remote.is_needed]
            for first in range(0, len(names), _TOGETHER):
                some = names[first : first + _TOGETHER]
                with suppress(StorageUnavailable):  # the next check may succeed
                    versions = await self._store.versions(some)
                    for name in some:
                        remote = self._remote.get(name)
                        if remote is not None:
                            remote.compare(versions.get(name))
        finally:
            self._is_checking = False

    def look(self, conversation_id: str) -> None:
        """Has the log of a conversation read, if it is followed here and run elsewhere."""
        remote = self._remote.get(conversation_id)
        if remote is not None:
            remote.look()

    def stop_looking(self, conversation_id: str) -> None:
        """Stops the replays, because the channel has no followers."""
        self._detach(conversation_id)
        remote = self._remote.pop(conversation_id, None)
        if remote is not None:
            remote.close()

    def run_here(self, conversation_id: str) -> None:
        """Ends what another node sends: this process runs the conversation from now on."""
        self._detach(conversation_id)

    def forget_this(self, channel: Channel) -> None:
        """Drops a channel, unless another one has taken its place."""
        name = channel.state.conversation_id
        if self._channels.get(name) is channel:
            self.forget(name)

    def forget(self, conversation_id: str) -> None:
        """Drops a channel. The next follower gets a new one."""
        self._channels.pop(conversation_id, None)
        self._detach(conversation_id)
        remote = self._remote.pop(conversation_id, None)
        if remote is not None:  # it may be the caller
            asyncio.get_running_loop().call_soon(remote.close)
