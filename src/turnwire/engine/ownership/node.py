"""This process as a node of the store: its name there, and its lease."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress

from turnwire.core.conversation.state import STATE_LEVEL
from turnwire.core.times import iso
from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.ownership.owners import has_died, host_name, may_live_here, owner_name
from turnwire.ports import Clock, NodeRow, StorageUnavailable, Store
from turnwire.version import __version__

__all__ = ["Node"]

_log = logging.getLogger("turnwire")

_FORGOTTEN_AFTER = 3_600_000  # milliseconds after the end of the lease of a node elsewhere


class Node:
    """Joins the nodes of the store, renews the lease of this process, and leaves.

    The lease holds all conversations of the process. A process that was expelled has lost them, and
    joins again under another name: a new incarnation with the same inbox.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        lease: int,
        *,
        name: str | None,
        inbox: str,
        agents: Callable[[], list[str]],
        load: Callable[[], dict[str, int]],
        bus: str | None = None,
    ) -> None:
        """`lease`: milliseconds. `name`: None means the name of the machine.

        `bus`: how its messages travel; nodes with another one do not hear it.
        """
        self.lease = lease
        self.inbox = inbox
        self.owner = owner_name(inbox)
        self.has_joined = False
        self._store = store
        self._clock = clock
        self.name = name or host_name()
        self._agents = agents
        self._load = load
        self._versions = {"turnwire": __version__, "state": str(STATE_LEVEL)}
        if bus is not None:
            self._versions["bus"] = bus
        self._incarnation = 1

    async def join(self) -> None:
        """Adds this process to the nodes of the store. Raises StorageUnavailable."""
        now = self._clock.now()
        row = NodeRow(
            self.owner,
            self.name,
            self.inbox,
            self._agents(),
            self._versions,
            iso(now),
            load=self._load(),
        )
        reach(CrashPoint.JOINS)
        await self._store.join(row, now=now, lease=self.lease)
        reach(CrashPoint.JOINED)
        self.has_joined = True

    async def renew(self) -> bool:
        """Renews the lease. Returns False if this node was expelled. Raises StorageUnavailable."""
        now, load = self._clock.now(), self._load()
        reach(CrashPoint.RENEWS)
        is_held = await self._store.renew_node(self.owner, now=now, lease=self.lease, load=load)
        reach(CrashPoint.RENEWED)
        return is_held

    def begin_again(self) -> None:
        """Takes another name, because the node of the last one was expelled."""
        self._incarnation += 1
        self.owner = owner_name(f"{self.inbox}.{self._incarnation}")
        self.has_joined = False

    async def leave(self) -> None:
        """Removes this process from the nodes of the store."""
        if self.has_joined:
            await self._remove(self.owner)

    async def warn_of_others(self) -> None:
        """Logs which live nodes have another bus."""
        with suppress(StorageUnavailable):
            for node in await self._store.nodes():
                is_alive = node.lease_until > self._clock.now() and not has_died(node.owner)
                if not is_alive or node.inbox == self.inbox:
                    continue
                bus, own = node.versions.get("bus"), self._versions.get("bus")
                if bus is not None and own is not None and bus != own:
                    _log.warning(
                        "The node %r uses another bus (%s) than this one (%s), so they do not hear"
                        " each other. Start all nodes with the same --bus.",
                        *(node.node, bus, own),
                    )

    async def forget_the_dead(self) -> None:
        """Removes nodes whose process has died, and those that have been silent for long."""
        silent = self._clock.now() - _FORGOTTEN_AFTER
        with suppress(StorageUnavailable):
            for node in await self._store.nodes():
                is_gone = node.lease_until < silent and not may_live_here(node.owner)
                if node.owner != self.owner and (is_gone or has_died(node.owner)):
                    await self._remove(node.owner)

    async def _remove(self, owner: str) -> None:
        with suppress(StorageUnavailable):  # then its lease expires
            reach(CrashPoint.LEAVES)
            await self._store.leave(owner)
            reach(CrashPoint.LEFT)
