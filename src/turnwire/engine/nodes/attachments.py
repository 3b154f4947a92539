"""Follows conversations that other nodes run: their owner sends what happens, as it happens."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, structs

from turnwire.background import BackgroundTasks
from turnwire.core.conversation.state import Conversation
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.fanout.channel import Channel, FollowAgain, Presentation
from turnwire.engine.fanout.remote_follow import missed_by
from turnwire.engine.nodes import messages as m
from turnwire.engine.nodes.mailbox import Mailbox
from turnwire.ports import Clock, Damaged, StorageUnavailable, Store, Timer, WireProtocol

__all__ = ["Attachments"]

_log = logging.getLogger("turnwire")
_KEEP = 1_000  # milliseconds between two signs that attachments are still needed
_SILENT = 3_000  # milliseconds without a sign of the owner, until it counts as unreachable
_FIRST = 1_000  # milliseconds that the first answer may take
_DISTRUSTED = 5_000  # milliseconds until a node that did not answer is asked again
_MOVED = partial(FollowAgain, "Another process runs the conversation now; follow again.")


class _Waiting(Struct):
    """A new follower that waits for the current state."""

    begin: Callable[[], None]
    given: asyncio.Future[Presentation | None]


class _Attachment:
    """One conversation, followed on this node and run by another."""

    def __init__(
        self,
        name: str,
        channel: Channel,
        owner: str,
        first: set[str],
        shared: _Shared,
        ended: Callable[[_Attachment], None],
    ) -> None:
        self.name = name
        self.channel = channel
        self.owner = owner  # the inbox of the node that runs the conversation
        self.heard_at = shared.clock.now()
        self.is_live = False  # the first state has arrived
        self._shared = shared
        self._ended = ended
        self._number = 0  # of the last batch
        self._grows = False
        self._is_over = False
        self._asked: dict[str, list[_Waiting]] = {}  # by protocol; their state is on its way
        self._next: dict[str, list[_Waiting]] = {}  # came later: theirs is asked for after it
        self._held: deque[m.Batch | m.Presented] | None = None  # while missed entries are read
        place = (name, channel.state.conversation_id, sorted(first))
        shared.mailbox.send(owner, m.Attach(shared.mailbox.inbox, *place))
        shared.clock.call_after(_FIRST, self._first_is_due)

    @property
    def is_heard(self) -> bool:
        """Whether the owner was heard of within the last two signs of it."""
        return self.is_live and self.heard_at >= self._shared.clock.now() - 2 * _KEEP

    # --- new followers ------------------------------------------------------------------------

    async def present(self, protocol: str, begin: Callable[[], None]) -> Presentation | None:
        """Returns the current state, for a new follower. Calls `begin` at that very moment.

        Followers that come together share one answer. Returns None if the owner does not answer.
        """
        given: asyncio.Future[Presentation | None] = asyncio.get_running_loop().create_future()
        if self._is_over:
            return None
        self._next.setdefault(protocol, []).append(_Waiting(begin, given))
        if protocol not in self._asked:
            self._ask(protocol)
        return await given

    def _ask(self, protocol: str) -> None:
        self._asked[protocol] = self._next.pop(protocol)
        self._send_present(protocol)

    def ask_again(self) -> None:
        """Asks again for the states that have not arrived: the bus may have lost the message.

        A state that arrives twice is harmless, because each is numbered among the batches.
        """
        for protocol in self._asked:
            self._send_present(protocol)

    def _send_present(self, protocol: str) -> None:
        mailbox = self._shared.mailbox
        mailbox.send(self.owner, m.Present(mailbox.inbox, self.name, protocol))

    # --- messages of the owner ----------------------------------------------------------------

    def receive(self, message: m.Batch | m.Presented) -> None:
        """Takes the next message of the owner."""
        self.heard_at = self._shared.clock.now()
        is_first = isinstance(message, m.Presented) and message.first
        if is_first and not self.is_live:
            self.is_live = True
        elif not self.is_live:
            return  # void: the first state contains it
        elif message.number != self._number + 1:
            if message.number > self._number:
                self.lose()
            return
        self._number = message.number
        if self._held is not None:
            self._held.append(message)
        else:
            self._take_or_lose(message)

    def is_complete(self, number: int) -> bool:
        """Returns whether the last message of the owner, with this number, has arrived."""
        return not self.is_live or number <= self._number

    def _take_or_lose(self, message: m.Batch | m.Presented) -> None:
        """Takes a message. One that this version cannot read is made up for by the log."""
        try:
            self._take(message)
        except Exception:
            _log.exception("A message of the node %s could not be read.", message.sender)
            self.is_live = False  # so that this node is not asked again at once
            self.lose()

    def _take(self, message: m.Batch | m.Presented) -> None:
        state = _at(self.channel.state, message.at)
        unpacked = {
            name: protocol.unpack(packed)
            for name, packed in message.packed.items()
            if (protocol := self._shared.protocols.get(name)) is not None
        }
        if isinstance(message, m.Batch):
            self._grows = message.at.grows
            self.channel.relay(state, unpacked)
        elif not message.first:
            reach(CrashPoint.FOLLOWS)
            self._give(state, unpacked)
            reach(CrashPoint.FOLLOWED)
        elif state.head < self.channel.state.head:  # the log has told the followers more
            self.lose()
        elif state is self.channel.state:  # the followers have missed nothing
            self._grows = message.at.grows
            self.channel.relay(state, unpacked)
        else:
            self._held = deque()
            self._shared.background.run(self._catch_up(state, message, unpacked))

    def _give(self, state: Conversation, unpacked: Mapping[str, list[Any]]) -> None:
        """Gives the state to the followers that wait for it."""
        for protocol, messages in unpacked.items():
            presentation = Presentation(state, messages)
            for waiting in self._asked.pop(protocol, ()):
                if not waiting.given.done():
                    waiting.begin()
                    waiting.given.set_result(presentation)
            if protocol in self._next:
                self._ask(protocol)

    async def _catch_up(
        self, state: Conversation, message: m.Presented, unpacked: Mapping[str, list[Any]]
    ) -> None:
        """Replays what the followers have missed, then takes what came meanwhile."""
        shared, channel = self._shared, self.channel
        before = channel.state
        try:
            missed = await missed_by(channel, shared.store, state)
        except (StorageUnavailable, Damaged):
            self.lose()
            return
        if self._is_over:
            return
        if channel.state is not before:  # the followers would get entries twice
            self.lose()
            return
        self._grows = message.at.grows
        channel.catch_up(state, missed, iso(shared.clock.now()), unpacked)
        held, self._held = self._held or deque(), None
        while held and not self._has_ended():
            self._take_or_lose(held.popleft())

    def _has_ended(self) -> bool:
        return self._is_over

    # --- the end ------------------------------------------------------------------------------

    def _first_is_due(self) -> None:
        if not self.is_live:
            self.lose()

    def lose(self) -> None:
        """Ends the attachment, and has the log read: a message was lost, or the owner has gone."""
        if not self._is_over:
            self.close()
            self._shared.look(self.channel.state.conversation_id)

    def close(self) -> None:
        """Ends the attachment.

        If the agent was in the middle of a message, its pieces do not go on: then the followers
        have to follow again, and get the conversation as it is.
        """
        if self._is_over:
            return
        self._is_over = True
        self._ended(self)
        mailbox = self._shared.mailbox
        mailbox.send(self.owner, m.Detach(mailbox.inbox, self.name))
        for some in (*self._asked.values(), *self._next.values()):
            for waiting in some:
                if not waiting.given.done():
                    waiting.given.set_result(None)
        self.channel.is_stale = True
        if self._grows:
            self.channel.finish(_MOVED)
            self._shared.forget(self.channel)


class _Shared(Struct):
    """What all attachments need."""

    mailbox: Mailbox
    store: Store
    clock: Clock
    protocols: Mapping[str, WireProtocol]
    background: BackgroundTasks
    look: Callable[[str], None]  # reads the log of a conversation, and attaches again
    forget: Callable[[Channel], None]  # drops a channel


class Attachments:
    """All conversations that this node follows on other nodes."""

    def __init__(
        self,
        mailbox: Mailbox,
        store: Store,
        clock: Clock,
        protocols: Mapping[str, WireProtocol],
        background: BackgroundTasks,
        *,
        new_id: Callable[[], str],
        look: Callable[[str], None],
        forget: Callable[[Channel], None],
        has_died: Callable[[str], bool],
    ) -> None:
        """`has_died` returns whether the process of an inbox is known to have ended."""
        self._has_died = has_died
        self._shared = _Shared(mailbox, store, clock, protocols, background, look, forget)
        self._new_id = new_id
        self._by_conversation: dict[str, _Attachment] = {}
        self._by_name: dict[str, _Attachment] = {}
        self._distrusted: dict[str, int] = {}  # nodes that did not answer, and until when
        self._timer: Timer | None = None
        mailbox.handle(
            (m.Batch, self._receive),
            (m.Presented, self._receive),
            (m.Kept, self._kept),
            (m.Detached, self._detached),
        )

    def get(self, conversation_id: str) -> _Attachment | None:
        """Returns the attachment of a conversation. Returns None if it has none."""
        return self._by_conversation.get(conversation_id)

    def begin(self, channel: Channel, owner: str, protocols: set[str]) -> bool:
        """Attaches a channel to the node that owns its conversation.

        Returns False if that node did not answer just now.
        """
        if self._shared.clock.now() < self._distrusted.get(owner, 0):
            return False
        before = self._by_conversation.get(channel.state.conversation_id)
        if before is not None:
            if before.owner == owner and before.channel is channel:
                return True
            before.close()
        made = _Attachment(self._new_id(), channel, owner, protocols, self._shared, self._forget)
        self._by_conversation[channel.state.conversation_id] = made
        self._by_name[made.name] = made
        channel.remote = made
        if self._timer is None:
            self._timer = self._shared.clock.call_after(_KEEP, self._keep)
        return True

    def trust(self, owner: str) -> None:
        """Notes that a node was heard of."""
        self._distrusted.pop(owner, None)

    def check(self) -> None:
        """Asks all owners whether a message was lost."""
        self._distrusted.clear()
        if self._timer is not None:
            self._timer()
        self._keep()

    def end(self, conversation_id: str) -> None:
        """Ends the attachment of a conversation: this node runs it, or has no followers."""
        attachment = self._by_conversation.get(conversation_id)
        if attachment is not None:
            attachment.close()

    def close(self) -> None:
        """Ends all attachments."""
        for attachment in list(self._by_name.values()):
            attachment.close()
        if self._timer is not None:
            self._timer()

    def _forget(self, attachment: _Attachment) -> None:
        self._by_name.pop(attachment.name, None)
        if not attachment.is_live:
            now = self._shared.clock.now()
            still = {owner: until for owner, until in self._distrusted.items() if until > now}
            self._distrusted = {**still, attachment.owner: now + _DISTRUSTED}
        name = attachment.channel.state.conversation_id
        if self._by_conversation.get(name) is attachment:
            del self._by_conversation[name]
        if attachment.channel.remote is attachment:
            attachment.channel.remote = None

    # --- messages -----------------------------------------------------------------------------

    def _receive(self, message: m.Batch | m.Presented) -> None:
        attachment = self._by_name.get(message.attachment)
        if attachment is not None:
            attachment.receive(message)

    def _detached(self, message: m.Detached) -> None:
        attachment = self._by_name.get(message.attachment)
        if attachment is not None:
            attachment.lose()

    def _keep(self) -> None:
        """Tells the owners which attachments are needed, and drops those of silent owners."""
        self._timer = None
        shared = self._shared
        before = shared.clock.now() - _SILENT
        by_owner: dict[str, list[str]] = {}
        for attachment in list(self._by_name.values()):
            if attachment.heard_at < before or self._has_died(attachment.owner):
                attachment.lose()
            else:
                attachment.ask_again()
                by_owner.setdefault(attachment.owner, []).append(attachment.name)
        for owner, names in by_owner.items():
            shared.mailbox.send(owner, m.Keep(shared.mailbox.inbox, names))
        if self._by_name:
            self._timer = shared.clock.call_after(_KEEP, self._keep)

    def _kept(self, message: m.Kept) -> None:
        now = self._shared.clock.now()
        for attachment in list(self._by_name.values()):
            if attachment.owner == message.sender:
                number = message.numbers.get(attachment.name)
                if number is not None and attachment.is_complete(number):
                    attachment.heard_at = now
                elif number is not None or attachment.is_live:
                    attachment.lose()


def _at(state: Conversation, position: m.Position) -> Conversation:
    """Returns a state with the head and the last turn of a position, which replays need."""
    if (state.head, state.last_turn_id) == (position.head, position.last_turn_id):
        return state
    return structs.replace(state, head=position.head, last_turn_id=position.last_turn_id)
