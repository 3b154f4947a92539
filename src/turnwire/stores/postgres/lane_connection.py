"""The connection of a lane: opened when it is needed, and again when it is lost."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable

from turnwire.ports import StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres import connection as connections
from turnwire.stores.postgres.connection import (
    WRITER,
    DatabaseConnection,
    close_quietly,
    connect,
    storage_errors,
)
from turnwire.stores.postgres.epoch import Epoch
from turnwire.stores.postgres.jobs import JobQueue
from turnwire.stores.postgres.outage import Outage
from turnwire.stores.postgres.search import Written
from turnwire.stores.postgres.unavailable import DatabaseUnavailable
from turnwire.stores.postgres.versions import Versions

__all__ = ["LaneConnection", "Shared", "answer_in_time"]


class Shared:
    """What all lanes of a store share."""

    def __init__(
        self,
        address: Address,
        *,
        outage: Outage,
        prepare: Callable[[DatabaseConnection], Awaitable[Epoch]],
        written: Callable[[Written], None],
    ) -> None:
        self.address = address
        self.outage = outage
        self.prepare = prepare  # checks a new connection, and returns the epoch of the log
        self.origin = ""  # of the database that is used now; see `epoch.py`
        self.written = written  # gets the entries to be indexed
        self.versions = Versions()
        self.name = f"turnwire {secrets.token_hex(4)}"


def answer_in_time() -> asyncio.Timeout:
    """Limits the time of a short statement: a lane that waits for an answer holds up all others."""
    return asyncio.timeout(connections.ANSWER_SECONDS)


class LaneConnection:
    """Opens the connection of one lane, and replaces it."""

    def __init__(self, shared: Shared, part: int, queue: JobQueue) -> None:
        self.epoch = Epoch("", 0, "")
        self._shared = shared
        self._part = part
        self._queue = queue  # a closed one ends the attempts to connect
        self._connection: DatabaseConnection = None
        self._opened = 0  # connections so far

    @property
    def is_lost(self) -> bool:
        """Returns whether there is no connection, and an attempt to open one has failed."""
        return self._connection is None

    async def open(self) -> DatabaseConnection:
        """Returns an open connection. Raises StorageUnavailable when the patience is over."""
        is_open = self._connection is not None and not self._connection.is_closed()
        if is_open and self.epoch.origin == self._shared.origin:
            return self._connection
        await self.drop()
        outage = self._shared.outage
        retries = outage.retries()
        while True:
            try:
                self._opened += 1
                connection = await connect(self._shared.address, WRITER, name=self.name)
                try:
                    with storage_errors(self._shared.address):
                        self.epoch = await self._shared.prepare(connection)
                except BaseException:
                    await close_quietly(connection)
                    raise
                self._connection = connection
                outage.end()
                return connection
            except StorageUnavailable as failure:
                is_final = isinstance(failure, DatabaseUnavailable) and failure.is_final
                if not is_final:
                    outage.fail(failure)
                if is_final or retries.are_over or self._queue.is_closed:
                    raise
            await retries.pause()

    @property
    def name(self) -> str:
        """Returns the name of the connection, by which the server ends it."""
        return f"{self._shared.name} {self._part} {self._opened}"

    def check_origin(self) -> None:
        """Raises an error of a lost connection if the database was replaced meanwhile.

        What the old one has answered does not count: the new one is asked what it has.
        """
        if self.epoch.origin != self._shared.origin:
            raise ConnectionResetError("The database was replaced by another one.")

    async def drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def close(self) -> None:
        await close_quietly(self._connection)

    def in_our_words(self, failure: Exception) -> Exception:
        """Returns an error of the driver as an error of the port."""
        try:
            with storage_errors(self._shared.address):
                raise failure
        except Exception as said:
            return said
