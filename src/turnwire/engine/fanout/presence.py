"""The followers of this process, reported to the store in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from msgspec import structs

from turnwire.core.times import iso
from turnwire.ports import Clock, Connection, StorageUnavailable, Store, Timer

__all__ = ["Connections"]

_SOON = 1000  # milliseconds; a shorter connection is never reported


class Connections:
    """The open connections. Reports them to the store in one small write every few seconds."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        owner: str,
        lease: int,
        run_in_background: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._lease = lease  # milliseconds without a report, until a connection counts as closed
        self._run_in_background = run_in_background
        self._open: dict[str, Connection] = {}
        self._reached: dict[str, Callable[[], int]] = {}
        self._told: set[str] = set()  # connections that the store has
        self._timer: Timer | None = None
        self._due_at = 0
        self._has_looked = False
        self._stopped = False

    def __len__(self) -> int:
        return len(self._open)

    def open(
        self,
        connection_id: str,
        conversation_id: str,
        client_id: str,
        user: str | None,
        reached: Callable[[], int],
        protocol: str = "v2",
    ) -> None:
        """Adds a connection. `reached` returns the newest entry that it was sent."""
        now = iso(self._clock.now())
        self._open[connection_id] = Connection(
            connection_id, conversation_id, self._owner, client_id, now, now, user, protocol
        )
        self._reached[connection_id] = reached
        self._write_in(_SOON)

    def close(self, connection_id: str) -> None:
        """Removes a connection."""
        self._open.pop(connection_id, None)
        self._reached.pop(connection_id, None)
        if connection_id in self._told:
            self._write_in(_SOON)

    async def stop(self) -> None:
        """Removes all connections, also from the store."""
        self._stopped = True
        self._cancel()
        self._open.clear()
        self._reached.clear()
        if self._told:
            await self._write()

    async def forget_the_dead(self) -> None:
        """Deletes the connections of dead processes from the store."""
        self._has_looked = True
        before = iso(self._clock.now() - self._lease)
        with suppress(StorageUnavailable):
            rows = await self._store.connections()
            dead = [row.connection_id for row in rows if row.seen_at < before]
            if dead:
                await self._store.disconnected(dead)

    def _write_in(self, milliseconds: int) -> None:
        """Sets the timer. An earlier timer stays, so that many changes do not delay the report."""
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
        self._run_in_background(self._write())

    async def _write(self) -> None:
        if not self._has_looked:
            await self.forget_the_dead()
        now = iso(self._clock.now())
        rows = [
            structs.replace(row, seen_at=now, last_sequence=self._reached[name]())
            for name, row in self._open.items()
        ]
        gone = self._told - self._open.keys()
        with suppress(StorageUnavailable):  # the next report retries
            if rows:
                self._told |= self._open.keys()
                await self._store.connected(rows)
            if gone:
                await self._store.disconnected(list(gone))
                self._told -= gone
        if self._open and self._timer is None:
            self._write_in(self._lease // 3)
