"""Recovers the conversations of dead owners, and fires deadlines that no owner waits for."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from turnwire.background import BackgroundTasks
from turnwire.core.conversation.state import needs_recovery
from turnwire.core.error_codes import Refused
from turnwire.engine.agents import KnownAgents
from turnwire.engine.ownership.owned_conversations import OwnedConversations
from turnwire.engine.ownership.stored_state import is_held
from turnwire.ports import Clock, Damaged, Owned, StorageUnavailable, Store, Timer

__all__ = ["Recovery"]

_log = logging.getLogger("turnwire")
_TOGETHER = 100  # conversations that are recovered at once
_FEW = 8  # the same in the background, where other nodes do the same


class Recovery:
    """Conversations whose owner has died, and requests whose deadline has passed."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        recheck: float,
        ownership: OwnedConversations,
        agents: KnownAgents,
        background: BackgroundTasks,
        *,
        in_background: bool,
    ) -> None:
        """`in_background`: several nodes share the store, and each takes a few at a time.

        A node then leaves conversations to the other nodes if only they have the agent.
        """
        self._store = store
        self._clock = clock
        self._recheck = round(recheck * 1000)
        self._ownership = ownership
        self._agents = agents
        self._background = background
        self._in_background = in_background
        self._together = _FEW if in_background else _TOGETHER
        self._damaged: set[str] = set()  # reported, and not tried again
        self._timer: Timer | None = None
        self._nodes: set[str] = set()  # the owners of all nodes, at the last check
        self._is_looking = False
        self._stopped = False

    async def begin(self) -> None:
        """Recovers all conversations that a crash has left, and watches for more of them."""
        if self._in_background:
            self._background.run(self._look(first=True))
        else:
            await self._recover_unsettled(at_start=True)
            await self._recover_abandoned()
        self._watch()

    def stop(self) -> None:
        """Stops the checks."""
        self._stopped = True
        if self._timer is not None:
            self._timer()

    def _watch(self) -> None:
        """Sets the timer of the next check: another process may die at any time."""
        if not self._stopped:
            self._timer = self._clock.call_after(self._recheck, self._due)

    def _due(self) -> None:
        if not self._is_looking:
            self._background.run(self._look())
        self._watch()

    async def _look(self, *, first: bool = False) -> None:
        self._is_looking = True
        try:
            with suppress(StorageUnavailable):
                if await self._has_lost_a_node() or first:
                    await self._recover_unsettled()
                await self._recover_abandoned()
                await self._fire_deadlines()
        finally:
            self._is_looking = False

    def take(self, conversation_ids: list[str]) -> None:
        """Takes over conversations that another node has released, with work left in them."""
        if not self._stopped:
            self._background.run(self._take(conversation_ids))

    async def _take(self, conversation_ids: list[str]) -> None:
        with suppress(StorageUnavailable):  # found again when that node has left
            await self._recover(conversation_ids)

    async def _has_lost_a_node(self) -> bool:
        """Returns whether a node has left since the last check. It may have left work to others."""
        before, self._nodes = self._nodes, {node.owner for node in await self._store.nodes()}
        return not before <= self._nodes

    # --- conversations of dead owners -----------------------------------------------------------

    async def _recover_unsettled(self, *, at_start: bool = False) -> None:
        """Recovers conversations that a crash, or the stop of a server, has left unfinished."""
        left, others = await self._store.unsettled(), await self._agents_of_others()
        for first in range(0, len(left), self._together):
            some = left[first : first + self._together]
            if not at_start:
                some = [name for name in some if await self._has_work_left(name, others)]
            if not self._stopped:
                await self._recover(some)

    async def _recover_abandoned(self) -> None:
        after, others = "", await self._agents_of_others()
        while not self._stopped:
            found = await self._store.abandoned(
                now=self._clock.now(), except_agents=others, after=after, limit=self._together
            )
            if not found:
                return
            await self._recover(found)
            after = found[-1]

    async def _agents_of_others(self) -> list[str]:
        """Returns the agents that only other live nodes have."""
        if not self._in_background:
            return []
        now = self._clock.now()
        theirs = {
            agent
            for node in await self._store.nodes()
            if node.lease_until > now and not node.load.get("draining")
            for agent in node.agents
        }
        return sorted(theirs - {*self._agents.available()})

    async def _has_work_left(self, conversation_id: str, agents_of_others: list[str]) -> bool:
        """Returns whether an unsettled conversation has no owner, and is not only waiting."""
        with suppress(Damaged):
            row = await self._store.conversation(conversation_id)
            return (
                row is not None
                and not is_held(row, self._clock.now())
                and needs_recovery(row.state)
                and row.agent not in agents_of_others
            )
        return False

    async def _recover(self, conversation_ids: list[str]) -> None:
        """Recovers many conversations at once, so that their commits share transactions."""
        await asyncio.gather(*map(self._make_true, conversation_ids))

    async def _make_true(self, conversation_id: str) -> None:
        # Another process owns it, or its agent is unavailable and its requests wait for it.
        with suppress(Owned, Refused):
            try:
                actor = await self._ownership.activate(conversation_id)
                self._ownership.rest(actor)  # if nothing else is to be done
            except Damaged as damaged:  # the other conversations are still recovered
                _log.error("%s", damaged.message)

    # --- deadlines ------------------------------------------------------------------------------

    async def _fire_deadlines(self) -> None:
        """Fires the deadlines of conversations that no process has in memory."""
        after, agents = "", self._agents.available()
        while not self._stopped:
            found = await self._store.overdue(
                now=self._clock.now(), agents=agents, after=after, limit=self._together
            )
            if not found:
                return
            requests: dict[str, list[str]] = {}
            for name, request_id in found:
                requests.setdefault(name, []).append(request_id)
            await asyncio.gather(*(self._fire(*each) for each in requests.items()))
            after = found[-1][0]

    async def _fire(self, conversation_id: str, request_ids: list[str]) -> None:
        if conversation_id in self._damaged:
            return
        with suppress(
            Owned, Refused
        ):  # another process was faster, or the node of the agent does it
            try:
                actor = await self._ownership.activate(conversation_id)
            except Damaged as damaged:
                self._damaged.add(conversation_id)
                _log.error("%s", damaged.message)
                return
            actor.pass_deadlines(request_ids)
            await actor.settle()
            left = {request.request_id for request in actor.state.requests}
            still_open = [(conversation_id, each) for each in request_ids if each in left]
            if still_open and not actor.dead:
                await self._store.deadlines_done(still_open)
            self._ownership.rest(actor)
