"""The followers of this process: how they attach to channels, and their opening message."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Any

from msgspec import structs

from turnwire.core.conversation import inputs as i
from turnwire.core.error_codes import Refused
from turnwire.core.opening import Opening, Start
from turnwire.core.status import Limits
from turnwire.core.times import iso
from turnwire.dialects.v2.projector import V2Projector
from turnwire.dialects.v2.relayed import pack, unpack
from turnwire.dialects.v2.sent import Sent
from turnwire.engine.agents import KnownAgents
from turnwire.engine.fanout.channel import Channel, Follower
from turnwire.engine.fanout.channels import Channels
from turnwire.engine.fanout.follow import Place, Reader, follow, open_at
from turnwire.engine.fanout.presence import Connections
from turnwire.engine.fanout.remote_follow import catch_up
from turnwire.engine.fanout.replay import Replays
from turnwire.engine.ownership.owned_conversations import STOPPED, OwnedConversations
from turnwire.engine.settings import EngineSettings
from turnwire.ports import Clock, ConversationRow, Projector, Store, WireProtocol

__all__ = ["V2", "Following"]

V2 = WireProtocol("v2", lambda row: V2Projector(row.conversation_id), pack, unpack)


class Following:
    """Attaches followers to channels, whichever process owns the conversation."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        channels: Channels,
        ownership: OwnedConversations,
        connections: Connections,
        attach: Callable[[Channel, ConversationRow, str], object],
        agents: KnownAgents,
        settings: EngineSettings,
        new_id: Callable[[], str],
    ) -> None:
        """`attach` asks the owner of a row to send what happens, in this protocol and others."""
        self._attach = attach
        self.settings = settings
        self._store = store
        self._clock = clock
        self._channels = channels
        self._ownership = ownership
        self._connections = connections
        self._agents = agents
        self._new_id = new_id
        self._replays = Replays(store, clock)

    async def follow(
        self, row: ConversationRow, place: Place, client_id: str, user: str | None
    ) -> AsyncGenerator[Sent, None]:
        """Yields the log after a place, then live messages; see `turnwire.engine.fanout.follow`."""
        channel = await self._channel_of(row, V2.name)
        connection_id = self._new_id()
        frames = follow(
            place,
            channel,
            self._replays,
            self._clock,
            self._reader(V2, row, channel, client_id, connection_id),
            left=lambda: self._left(row.conversation_id),
            frames=self.settings.buffer,
            size=self.settings.buffer_bytes,
        )
        reached = 0
        self._connections.open(connection_id, row.conversation_id, client_id, user, lambda: reached)
        try:
            async with aclosing(frames):
                async for sent in frames:
                    reached = sent.number or reached
                    yield sent
        finally:
            self._connections.close(connection_id)

    async def attach(
        self,
        row: ConversationRow,
        place: Place,
        follower: Follower,
        *,
        client_id: str,
        connection_id: str,
        user: str | None,
        reached: Callable[[], int],
        protocol: WireProtocol,
        is_owner: bool,
    ) -> AsyncGenerator[Any, None]:
        """Subscribes a follower and yields its first messages; see `Engine.attach`."""
        channel = await self._channel_of(row, protocol.name)
        about = (connection_id, row.conversation_id, client_id, user, reached, protocol.name)
        self._connections.open(*about)
        reader = self._reader(protocol, row, channel, client_id, connection_id, is_owner=is_owner)
        first = open_at(place, channel, follower, self._replays, self._clock, reader)
        async with aclosing(first):
            async for message in first:
                yield message

    def detach(self, conversation_id: str, follower: Follower, connection_id: str) -> None:
        """Ends the subscription of a follower."""
        self._connections.close(connection_id)
        self.leave(conversation_id, follower)

    async def stop(self) -> None:
        """Ends all subscriptions. Followers get their buffered messages first."""
        for channel in self._channels.all():
            channel.finish(STOPPED)
            self._channels.forget(channel.state.conversation_id)
        await self._connections.stop()

    # --- other nodes --------------------------------------------------------------------------

    def join(
        self, conversation_id: str, follower: Follower, protocol: WireProtocol
    ) -> tuple[Channel, Projector] | None:
        """Subscribes another node. Returns None if this process does not run the conversation."""
        actor = self._ownership.alive.get(conversation_id)
        if actor is None or actor.dead:
            return None
        channel = actor.channel
        if not channel.is_followed:
            actor.post(i.Came(at=self._clock.now()))
        make = partial(protocol.projector, actor.row)
        return channel, channel.subscribe(follower, protocol.name, make)

    def leave(self, conversation_id: str, follower: Follower) -> None:
        """Ends a subscription."""
        channel = self._channels.get(conversation_id)
        if channel is not None:
            channel.unsubscribe(follower)
            self._left(conversation_id)

    # --- attaching and detaching --------------------------------------------------------------

    async def _channel_of(self, row: ConversationRow, protocol: str) -> Channel:
        """Returns the channel for a new follower."""
        name = row.conversation_id
        self._ownership.check_running()
        await self._ownership.check_epoch()
        dying = self._ownership.alive.get(name)
        if dying is not None and dying.dead:  # another process owns it now; this channel ends
            await dying.settle()
        channel = self._channels.get(name)
        if channel is None:
            found = await self._read(name)
            channel = self._channels.of(found)
            if not self._ownership.is_ours(name):
                self._attach(channel, found, protocol)
        actor = self._ownership.alive.get(name)
        if actor is not None and not channel.is_followed:
            actor.post(i.Came(at=self._clock.now()))
        is_ours = partial(self._ownership.is_ours, name)
        self._channels.follow_remote(channel, is_ours, is_archived=row.archived)
        return channel

    async def _read(self, conversation_id: str) -> ConversationRow:
        """Returns the row of a conversation, read again if the log was replaced meanwhile."""
        epoch, row = None, None
        while epoch != self._store.epoch:
            epoch = self._store.epoch
            row = await self._store.conversation(conversation_id)
            await self._ownership.check_epoch()
        if row is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        return row

    def _reader(
        self,
        protocol: WireProtocol,
        row: ConversationRow,
        channel: Channel,
        client_id: str,
        connection_id: str,
        *,
        is_owner: bool = True,
    ) -> Reader:
        handover = channel.state.handover
        # The row may have been read before another agent took over.
        if handover is not None and channel.state.head >= row.state.head:
            row = structs.replace(row, agent=handover.agent)
        limits = Limits(
            self.settings.max_frame_bytes,
            channel.state.options.max_queue,
            self.settings.heartbeat_seconds,
        )

        def opening(start: Start, head: int, now: str) -> Opening:
            epoch = self._store.epoch
            said = channel.state.offered
            offered = self._agents.capabilities(
                row.agent, is_owner=is_owner, offers=said.offers if said else None
            )
            return Opening(now, connection_id, client_id, epoch, start, head, offered, limits)

        refresh = partial(self._refresh, channel)
        return Reader(protocol.name, partial(protocol.projector, row), opening, refresh)

    async def _refresh(self, channel: Channel) -> bool:
        """Reads the state of a conversation whose node has stopped to send what happens.

        Returns False if this process runs the conversation, and so knows its state.
        """
        name = channel.state.conversation_id
        if name in self._ownership.alive:
            return False
        await catch_up(channel, self._store, await self._read(name), iso(self._clock.now()))
        return True

    def _left(self, conversation_id: str) -> None:
        channel = self._channels.get(conversation_id)
        if channel is None or channel.is_followed:
            return
        self._channels.stop_looking(conversation_id)
        actor = self._ownership.alive.get(conversation_id)
        if actor is not None:
            actor.post(i.Left(at=self._clock.now()))
        elif not self._ownership.is_taking(conversation_id):  # else the new owner needs it
            self._channels.forget(conversation_id)
