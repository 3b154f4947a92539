"""Who follows what here. The store is told now and then, and nobody waits for that."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from msgspec import structs

from turnwire.core.times import iso
from turnwire.ports import Clock, Connection, StorageUnavailable, Store, Timer

__all__ = ["Connections"]

_SOON = 1000  # milliseconds; whoever is gone by then was never told of


class Connections:
    """Costs a connection a dictionary entry, and the store one small write every few seconds."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        owner: str,
        lease: int,
        beside: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._lease = lease  # milliseconds; who was not seen for so long is gone
        self._beside = beside
        self._open: dict[str, Connection] = {}
        self._reached: dict[str, Callable[[], int]] = {}
        self._told: set[str] = set()  # what the store knows
        self._timer: Timer | None = None
        self._due_at = 0
        self._has_looked = False
        self._stopped = False

    def open(
        self,
        connection_id: str,
        conversation_id: str,
        client_id: str,
        user: str | None,
        reached: Callable[[], int],
        protocol: str = "v2",
    ) -> None:
        """Somebody follows. `reached`: the newest entry that they were sent."""
        now = iso(self._clock.now())
        self._open[connection_id] = Connection(
            connection_id, conversation_id, self._owner, client_id, now, now, user, protocol
        )
        self._reached[connection_id] = reached
        self._write_in(_SOON)

    def close(self, connection_id: str) -> None:
        """They are gone."""
        self._open.pop(connection_id, None)
        self._reached.pop(connection_id, None)
        if connection_id in self._told:
            self._write_in(_SOON)

    async def stop(self) -> None:
        """Nobody follows any more."""
        self._stopped = True
        self._cancel()
        self._open.clear()
        self._reached.clear()
        if self._told:
            await self._write()

    async def forget_the_dead(self) -> None:
        """A process that died has not said who is gone."""
        self._has_looked = True
        before = iso(self._clock.now() - self._lease)
        with suppress(StorageUnavailable):
            rows = await self._store.connections()
            dead = [row.connection_id for row in rows if row.seen_at < before]
            if dead:
                await self._store.disconnected(dead)

    def _write_in(self, milliseconds: int) -> None:
        """Where many come and go, none of them puts off what is told of the others."""
        at = self._clock.now() + milliseconds
        if self._stopped or (self._timer is not None and self._due_at <= at):
            return
        self._cancel()
        self._due_at = at
        self._timer = self._clock.call_after(milliseconds, self._due)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        self._beside(self._write())

    async def _write(self) -> None:
        if not self._has_looked:
            await self.forget_the_dead()
        now = iso(self._clock.now())
        rows = [
            structs.replace(row, seen_at=now, last_sequence=self._reached[name]())
            for name, row in self._open.items()
        ]
        gone = self._told - self._open.keys()
        with suppress(StorageUnavailable):  # it is told again
            if rows:
                self._told |= self._open.keys()
                await self._store.connected(rows)
            if gone:
                await self._store.disconnected(list(gone))
                self._told -= gone
        if self._open and self._timer is None:
            self._write_in(self._lease // 3)
