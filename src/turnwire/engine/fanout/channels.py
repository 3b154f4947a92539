"""The channels of all conversations that are alive here, or that somebody here follows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnwire.engine.fanout.channel import Channel
from turnwire.engine.fanout.remote_follow import Elsewhere
from turnwire.ports import Bus, Clock, ConversationRow, Store

__all__ = ["Channels"]


class Channels:
    """One for each conversation, with somebody who looks at the log for it while it is followed."""

    def __init__(self, store: Store, bus: Bus, clock: Clock, recheck: float) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._recheck = recheck
        self._channels: dict[str, Channel] = {}
        self._elsewhere: dict[str, Elsewhere] = {}

    def get(self, conversation_id: str) -> Channel | None:
        """The channel of a conversation, if it has one."""
        return self._channels.get(conversation_id)

    def of(self, row: ConversationRow) -> Channel:
        """The channel of a conversation; a new one begins with what the log has."""
        channel = self._channels.get(row.conversation_id)
        if channel is None:
            channel = self._channels[row.conversation_id] = Channel(row.state)
        return channel

    def all(self) -> list[Channel]:
        """Those that there are now."""
        return list(self._channels.values())

    def look_elsewhere(self, channel: Channel, is_ours: Callable[[], bool]) -> None:
        """Tell it what other processes write, whenever this one does not work on it."""
        name = channel.state.conversation_id
        if name not in self._elsewhere:
            self._elsewhere[name] = Elsewhere(
                channel,
                store=self._store,
                bus=self._bus,
                clock=self._clock,
                recheck=self._recheck,
                is_ours=is_ours,
            )

    def stop_looking(self, conversation_id: str) -> None:
        """Nobody follows it."""
        elsewhere = self._elsewhere.pop(conversation_id, None)
        if elsewhere is not None:
            elsewhere.close()

    def forget(self, conversation_id: str) -> None:
        """Whoever comes gets another one, with somebody else who looks at the log for it."""
        self._channels.pop(conversation_id, None)
        elsewhere = self._elsewhere.pop(conversation_id, None)
        if elsewhere is not None:  # it may be looking at this very moment
            asyncio.get_running_loop().call_soon(elsewhere.close)
