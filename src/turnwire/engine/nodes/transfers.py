"""Gives conversations to other nodes: this node is about to stop, or cannot run them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnwire.engine.nodes import messages as m
from turnwire.engine.nodes.mailbox import Mailbox
from turnwire.engine.ownership.owners import has_died
from turnwire.ports import Clock, ConversationRow, NodeRow, StorageUnavailable, Store

__all__ = ["Transfers"]


class Transfers:
    """Finds other nodes that can run a conversation, and tells them to take it."""

    def __init__(
        self, mailbox: Mailbox, store: Store, clock: Clock, take: Callable[[list[str]], None]
    ) -> None:
        """`take` is called with conversations that another node has released for this one."""
        self._mailbox = mailbox
        self._store = store
        self._clock = clock
        self._take = take
        self._given: dict[str, list[str]] = {}  # released and not told yet, by inbox
        self._turn = 0
        mailbox.handle((m.Take, self._taken))

    async def other_for(self, row: ConversationRow) -> str | None:
        """Returns the inbox of another node that can run a conversation; each time the next one.

        Returns None if there is no such node.
        """
        able = [node for node in await self.others() if _can_run(node, row)]
        if not able:
            return None
        self._turn += 1
        return able[self._turn % len(able)].inbox

    async def others(self) -> list[NodeRow]:
        """Returns the other nodes that claim conversations; none if the store is unavailable."""
        try:
            nodes = await self._store.nodes()
        except StorageUnavailable:
            return []
        return [node for node in nodes if self._may_claim(node)]

    def _may_claim(self, node: NodeRow) -> bool:
        return (
            node.inbox != self._mailbox.inbox
            and node.lease_until > self._clock.now()
            and not node.load.get("draining")
            and not has_died(node.owner)
        )

    async def give(self, row: ConversationRow) -> None:
        """Tells another node to take a conversation, which this node has released.

        The message may be lost. The others find the conversation when this node has left them.
        """
        inbox = await self.other_for(row)
        if inbox is None:
            return
        if inbox not in self._given:
            asyncio.get_running_loop().call_soon(self._tell, inbox)
        self._given.setdefault(inbox, []).append(row.conversation_id)

    def _tell(self, inbox: str) -> None:
        self._mailbox.send(inbox, m.Take(self._mailbox.inbox, self._given.pop(inbox)))

    def _taken(self, message: m.Take) -> None:
        self._take(message.conversation_ids)


def _can_run(node: NodeRow, row: ConversationRow) -> bool:
    level = node.versions.get("state", "0")
    return row.agent in node.agents and level.isdecimal() and int(level) >= row.state.level
