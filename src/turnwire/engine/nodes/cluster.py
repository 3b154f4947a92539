"""The parts that work with other nodes, put together. Without a bus there are no other nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from turnwire.background import BackgroundTasks
from turnwire.core.conversation import inputs as i
from turnwire.engine.actor.commands import Answer
from turnwire.engine.fanout.channel import Channel
from turnwire.engine.fanout.channels import Channels
from turnwire.engine.fanout.followers import Following
from turnwire.engine.nodes import messages as m
from turnwire.engine.nodes.attachments import Attachments
from turnwire.engine.nodes.forwarding import AskHere, Forwarding
from turnwire.engine.nodes.mailbox import Mailbox
from turnwire.engine.nodes.relays import Relays
from turnwire.engine.nodes.transfers import Transfers
from turnwire.engine.ownership.owners import has_died, inbox_of
from turnwire.ports import Bus, Clock, ConversationRow, Store, Timer, WireProtocol

__all__ = ["Cluster"]

_TOGETHER = 50  # milliseconds in which changes are collected into one message
_MOST_NAMES = 1_000  # of owners that are remembered
_TIDY = 5_000  # milliseconds between two checks for nodes that were not heard of


class Cluster:
    """This node and the others: what is followed there, and what is asked of them."""

    def __init__(
        self,
        bus: Bus,
        inbox: str,
        *,
        store: Store,
        clock: Clock,
        channels: Channels,
        following: Following,
        protocols: Mapping[str, WireProtocol],
        background: BackgroundTasks,
        here: AskHere,
        new_id: Callable[[], str],
        changed: Callable[[str, str | None], None],
        take: Callable[[list[str]], None],
    ) -> None:
        """`here` carries out what other nodes ask for. `take` takes over what they release.

        `changed` is called with each conversation that another node has changed.
        """
        self.mailbox = Mailbox(bus, inbox)
        self._clock = clock
        self._channels = channels
        self._report = changed
        self._names: dict[str, str] = {}  # of owners that were met, by inbox
        self._forwarding = Forwarding(
            self.mailbox, clock, background, here, new_id, self._is_known_dead
        )
        self.transfers = Transfers(self.mailbox, store, clock, take)
        self._relays = Relays(self.mailbox, following, protocols, clock, background)
        self._attachments = Attachments(
            self.mailbox,
            store,
            clock,
            protocols,
            background,
            new_id=new_id,
            look=channels.look,
            forget=channels.forget_this,
            has_died=self._is_known_dead,
        )
        self._changed: dict[str, str | None] = {}  # conversations of this node, with their users
        self._tidying: Timer | None = None
        self._missed: list[Callable[[], None]] = []
        self.mailbox.handle((m.Claimed, self._claimed), (m.Changed, self._heard_of_changes))

    async def open(self) -> None:
        """Joins the other nodes."""
        await self.mailbox.open(self._may_have_missed)
        self._tidying = self._clock.call_after(_TIDY, self._tidy)

    async def close(self) -> None:
        """Leaves the other nodes, and tells those that follow conversations of this node."""
        if self._tidying is not None:
            self._tidying()
        self._relays.close()
        self._attachments.close()
        self._tell_changes()
        await self.mailbox.close()

    def when_missed(self, call: Callable[[], None]) -> None:
        """Sets a function that is called when messages of other nodes may have been missed."""
        self._missed.append(call)

    def _may_have_missed(self) -> None:
        self._attachments.check()
        for call in self._missed:
            call()

    def _tidy(self) -> None:
        self._relays.drop_silent()
        self._tidying = self._clock.call_after(_TIDY, self._tidy)

    # --- following ----------------------------------------------------------------------------

    def attach(self, channel: Channel, row: ConversationRow, *protocols: str) -> bool:
        """Asks the owner of a conversation to send what happens. Returns whether it may do so."""
        inbox = inbox_of(row.owner)
        if inbox is None or inbox == self.mailbox.inbox or has_died(row.owner):
            return False
        self.note_owner(row.owner)
        return self._attachments.begin(channel, inbox, channel.protocols | set(protocols))

    def detach(self, conversation_id: str) -> None:
        """Ends what `attach` began."""
        self._attachments.end(conversation_id)

    def owner_of(self, conversation_id: str) -> str | None:
        """Returns the inbox of the node that sends what happens in a conversation.

        Returns None as well if that node was not heard of for a while: its lease may be over.
        """
        attachment = self._attachments.get(conversation_id)
        return attachment.owner if attachment is not None and attachment.is_heard else None

    def note_owner(self, owner: object) -> str | None:
        """Notes the name of an owner, and returns its inbox. Returns None if it has none."""
        inbox = inbox_of(owner)
        if inbox is not None:
            if len(self._names) > _MOST_NAMES:
                self._names.clear()
            self._names[inbox] = str(owner)
        return inbox

    def _is_known_dead(self, inbox: str) -> bool:
        name = self._names.get(inbox)
        return name is not None and has_died(name)

    def _claimed(self, message: m.Claimed) -> None:
        self._attachments.trust(message.sender)
        for name in message.conversation_ids:
            attachment = self._attachments.get(name)
            if attachment is not None and attachment.owner != message.sender:
                attachment.lose()
            else:
                self._channels.look(name)

    # --- commands -----------------------------------------------------------------------------

    async def ask(
        self,
        owner: str,
        conversation_id: str,
        asked: i.Asked,
        body: bytes,
        accepted: Callable[[Answer], None] | None,
        *,
        was_silent: bool = False,
    ) -> Answer:
        """Passes a command on to the owner. Raises Refused, NotOwner, OwnerSilent."""
        command = (conversation_id, asked, body, accepted)
        return await self._forwarding.ask(owner, *command, was_silent=was_silent)

    async def end(self, owner: str, conversation_id: str, reason: str) -> None:
        """Has the owner end the agent and the turn. Raises NotOwner, OwnerSilent."""
        await self._forwarding.end(owner, conversation_id, reason)

    # --- changes ------------------------------------------------------------------------------

    def tell_changed(self, conversation_id: str, user: str | None) -> None:
        """Tells all nodes that a conversation has changed. Many changes are told together."""
        if not self._changed:
            self._clock.call_after(_TOGETHER, self._tell_changes)
        self._changed[conversation_id] = user

    def _tell_changes(self) -> None:
        changed, self._changed = self._changed, {}
        if changed:
            self.mailbox.broadcast(m.Changed(self.mailbox.inbox, changed))

    def _heard_of_changes(self, message: m.Changed) -> None:
        for conversation_id, user in message.conversations.items():
            self._channels.look(conversation_id)
            self._report(conversation_id, user)
