"""Sends what happens in the conversations of this node to the nodes that follow them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from turnwire.background import BackgroundTasks
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.fanout.channel import Channel
from turnwire.engine.fanout.followers import Following
from turnwire.engine.nodes import messages as m
from turnwire.engine.nodes.mailbox import Mailbox
from turnwire.errors import TurnwireError
from turnwire.ports import Clock, Projector, WireProtocol

__all__ = ["KEPT_FOR", "Relays"]

KEPT_FOR = 10_000  # milliseconds without a sign of the other node, until its attachment is dropped


class _Ear:
    """Follows a conversation in one protocol, for all followers on another node."""

    def __init__(self, relay: _Relay, protocol: WireProtocol) -> None:
        self.protocol = protocol
        self.projector: Projector | None = None
        self._relay = relay

    def receive(self, together: list[Any]) -> None:
        self._relay.collect(self.protocol.name, together)

    def begin(self) -> None:
        self._relay.drop(self.protocol.name)

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        self._relay.finish()


class _Relay:
    """One conversation, for one other node: what happens is sent in numbered batches.

    Batches are sent once in each turn of the event loop, so that many small pieces of text need few
    messages. The answer to a command is sent at once, and so arrives before what it causes.
    """

    def __init__(
        self,
        attach: m.Attach,
        mailbox: Mailbox,
        following: Following,
        protocols: Mapping[str, WireProtocol],
        clock: Clock,
        ended: Callable[[_Relay], None],
    ) -> None:
        self.name = attach.attachment
        self.to = attach.sender
        self.number = 0  # of the last batch
        self.kept_at = clock.now()
        self._conversation_id = attach.conversation_id
        self._mailbox = mailbox
        self._following = following
        self._protocols = protocols
        self._clock = clock
        self._ended = ended
        self._ears: dict[str, _Ear] = {}
        self._channel: Channel | None = None
        self._collected: dict[str, list[Any]] = {}
        self._is_over = False
        self._is_due = False
        self._turn = asyncio.Lock()  # states are sent in the order in which they were asked for

    async def present(self, names: list[str], *, is_first: bool = False) -> None:
        """Sends the current state in some protocols. Adds those that were not relayed before."""
        async with self._turn:
            if not all(map(self._add, names)) or self._channel is None:
                self.finish()
                return
            channel = self._channel
            await channel.until_told()
            if self._is_over:
                return
            reach(CrashPoint.ATTACHES)
            self._flush()
            now = channel.now(iso(self._clock.now()))
            packed = {}
            for name in names:
                ear = self._ears[name]
                assert ear.projector is not None
                packed[name] = ear.protocol.pack(ear.projector.present(now))
            self.number += 1
            place = (self.name, self.number, self._position(channel), packed, is_first)
            self._mailbox.send(self.to, m.Presented(self._mailbox.inbox, *place))
            reach(CrashPoint.ATTACHED)

    def _add(self, name: str) -> bool:
        """Begins to relay a protocol. Returns False if that is not possible."""
        if self._is_over:
            return False
        if name in self._ears:
            return True
        protocol = self._protocols.get(name)
        if protocol is None:
            return False
        ear = _Ear(self, protocol)
        joined = self._following.join(self._conversation_id, ear, protocol)
        if joined is None:
            return False
        self._channel, ear.projector = joined
        self._ears[name] = ear
        return True

    def collect(self, protocol: str, together: list[Any]) -> None:
        """Takes messages, which are sent soon."""
        self._collected.setdefault(protocol, []).extend(together)
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def drop(self, protocol: str) -> None:
        """Drops the messages of a protocol that were not sent yet."""
        self._collected.pop(protocol, None)

    def _flush(self) -> None:
        self._is_due = False
        channel = self._channel
        if self._is_over or channel is None or not self._collected:
            return
        collected, self._collected = self._collected, {}
        packed = {name: self._protocols[name].pack(some) for name, some in collected.items()}
        self.number += 1
        place = (self.name, self.number, self._position(channel), packed)
        self._mailbox.send(self.to, m.Batch(self._mailbox.inbox, *place))

    def _position(self, channel: Channel) -> m.Position:
        state = channel.state
        return m.Position(state.head, state.last_turn_id, channel.is_growing)

    def finish(self) -> None:
        """Tells the other node that nothing more comes."""
        if not self._is_over:
            self._flush()
            self._mailbox.send(self.to, m.Detached(self._mailbox.inbox, self.name))
            self.close()

    def close(self) -> None:
        """Ends without telling the other node."""
        if not self._is_over:
            self._is_over = True
            for ear in self._ears.values():
                self._following.leave(self._conversation_id, ear)
            self._ended(self)


class Relays:
    """All attachments of other nodes to conversations of this node."""

    def __init__(
        self,
        mailbox: Mailbox,
        following: Following,
        protocols: Mapping[str, WireProtocol],
        clock: Clock,
        background: BackgroundTasks,
    ) -> None:
        self._mailbox = mailbox
        self._following = following
        self._protocols = protocols
        self._clock = clock
        self._background = background
        self._relays: dict[str, _Relay] = {}
        mailbox.handle(
            (m.Attach, self._attach),
            (m.Present, self._present),
            (m.Keep, self._keep),
            (m.Detach, self._detach),
        )

    def drop_silent(self) -> None:
        """Drops the attachments of nodes that were not heard for a while."""
        before = self._clock.now() - KEPT_FOR
        for relay in list(self._relays.values()):
            if relay.kept_at < before:
                relay.close()

    def close(self) -> None:
        """Ends all attachments, and tells the other nodes."""
        for relay in list(self._relays.values()):
            relay.finish()

    def _attach(self, message: m.Attach) -> None:
        if message.attachment in self._relays:  # the message was doubled
            return
        common = (self._mailbox, self._following, self._protocols, self._clock, self._forget)
        relay = self._relays[message.attachment] = _Relay(message, *common)
        self._background.run(relay.present(message.protocols, is_first=True))

    def _present(self, message: m.Present) -> None:
        relay = self._relays.get(message.attachment)
        if relay is None:
            self._mailbox.send(message.sender, m.Detached(self._mailbox.inbox, message.attachment))
        else:
            self._background.run(relay.present([message.protocol]))

    def _keep(self, message: m.Keep) -> None:
        now = self._clock.now()
        numbers = {}
        for name in message.attachments:
            relay = self._relays.get(name)
            if relay is not None:
                relay.kept_at = now
                numbers[name] = relay.number
        self._mailbox.send(message.sender, m.Kept(self._mailbox.inbox, numbers))

    def _detach(self, message: m.Detach) -> None:
        relay = self._relays.get(message.attachment)
        if relay is not None:
            relay.close()

    def _forget(self, relay: _Relay) -> None:
        self._relays.pop(relay.name, None)
