"""The channels of all conversations that this process runs or follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnwire.engine.fanout.channel import Channel
from turnwire.engine.fanout.remote_follow import RemoteFollow
from turnwire.ports import Clock, ConversationRow, Store

__all__ = ["Channels"]


class Channels:
    """Channels by conversation. A channel with followers replays what other processes write."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        recheck: float,
        attach: Callable[[Channel, ConversationRow], bool],
        detach: Callable[[str], None],
    ) -> None:
        """`attach` asks the owner of a row to send what happens; `detach` ends that."""
        self._store = store
        self._clock = clock
        self._recheck = recheck
        self._attach = attach
        self._detach = detach
        self._channels: dict[str, Channel] = {}
        self._remote: dict[str, RemoteFollow] = {}

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

    def follow_remote(self, channel: Channel, is_ours: Callable[[], bool]) -> None:
        """Replays what other processes write, while this process does not run the conversation."""
        name = channel.state.conversation_id
        if name not in self._remote:
            self._remote[name] = RemoteFollow(
                channel,
                store=self._store,
                clock=self._clock,
                recheck=self._recheck,
                is_ours=is_ours,
                attach=self._attach,
            )

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
