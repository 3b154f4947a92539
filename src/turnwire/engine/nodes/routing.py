"""Finds the node that carries out a command, and asks it. Asks another one if the owner changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from turnwire.core.conversation import inputs as i
from turnwire.core.error_codes import Refused
from turnwire.engine.actor.commands import Answer
from turnwire.engine.nodes.cluster import Cluster
from turnwire.engine.nodes.forwarding import NotOwner, OwnerSilent
from turnwire.engine.ownership.claims import CannotClaim
from turnwire.engine.ownership.owners import has_died, inbox_of
from turnwire.engine.ownership.placement import inbox_of_node, node_in
from turnwire.ports import Clock, Owned, Store

__all__ = ["Routing"]

_PAUSE = 0.1  # seconds until the owner of a conversation is looked for again

_Accepted = Callable[[Answer], None] | None
_Here = Callable[[str, i.Asked, bytes, _Accepted], Awaitable[Answer]]


class Routing:
    """Hands commands to the node that runs their conversation, this one or another."""

    def __init__(
        self, cluster: Cluster, store: Store, clock: Clock, here: _Here, lease: float
    ) -> None:
        """`here` carries out a command on this node. `lease`: of each node, in seconds."""
        self._cluster = cluster
        self._store = store
        self._clock = clock
        self._here = here
        self._lease = lease

    async def ask(
        self,
        conversation_id: str,
        asked: i.Asked,
        digest: bytes,
        accepted: _Accepted,
        *,
        runs_here: bool,
    ) -> Answer:
        """Hands a command to its conversation and returns the answer. Raises Refused."""
        command = (conversation_id, asked, digest, accepted)
        owner = None if runs_here else self._cluster.owner_of(conversation_id)
        silent: set[str] = set()  # owners that did not answer
        until = time.monotonic() + 2 * self._lease  # by then a dead owner has lost it
        while True:
            try:
                if owner is None:
                    return await self._here(*command)
                return await self._cluster.ask(owner, *command, was_silent=owner in silent)
            except Owned as owned:
                owner = self._cluster.note_owner(owned.data.get("owner"))
                if owner is None or time.monotonic() > until:
                    raise
            except NotOwner:
                owner = None
                await asyncio.sleep(_PAUSE)
            except CannotClaim:
                if time.monotonic() > until:
                    raise
                owner = await self._other_node(conversation_id)
                if owner is None:
                    raise
            except Refused as refused:
                node = node_in(refused)
                if node is None or time.monotonic() > until:
                    raise
                owner = await inbox_of_node(self._store, node, self._clock.now())
                if owner is None:
                    raise
            except OwnerSilent:
                if asked.client_message_id is None:  # it cannot be told whether it was carried out
                    said = "The node that runs the conversation does not answer."
                    raise Refused("STORAGE_UNAVAILABLE", said) from None
                if owner is not None:
                    silent.add(owner)
                owner = None

    async def _other_node(self, conversation_id: str) -> str | None:
        """Returns a node that can run a conversation: its owner, or any other that has the agent."""
        row = await self._store.conversation(conversation_id)
        if row is None:
            raise Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)
        owner = inbox_of(row.owner)
        if owner is not None and owner != self._cluster.mailbox.inbox and not has_died(row.owner):
            return owner
        return await self._cluster.transfers.other_for(row)
