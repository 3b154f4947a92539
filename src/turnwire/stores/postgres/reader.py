"""Reads from a pool of connections. A read whose connection is lost is repeated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from turnwire.ports import StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres.connection import (
    ANSWER_SECONDS,
    COMMAND_SECONDS,
    CONNECT_SECONDS,
    READER,
    DatabaseConnection,
    is_lost,
    storage_errors,
)
from turnwire.stores.postgres.outage import Outage

__all__ = ["Reader"]

T = TypeVar("T")

_QUIET_SECONDS = 1.0  # after this time without an answer, a connection is tried before it is used


class Reader:
    """A small pool of connections that only read."""

    def __init__(
        self,
        address: Address,
        *,
        connections: int,
        outage: Outage,
        check: Callable[[DatabaseConnection], Awaitable[None]],
    ) -> None:
        """`check` raises StorageUnavailable if a new connection leads to another database."""
        self._address = address
        self._outage = outage
        self._check = check
        self._replaced = 0  # how often the database was replaced by another one
        self._pool = asyncpg.create_pool(
            address.url,
            min_size=0,
            max_size=connections,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            server_settings={**READER, "application_name": "turnwire reader"},
            reset=_leave_as_it_is,
            init=self._prepare,
        )
        self._answered_at = 0.0
        self._is_closed = False

    async def _prepare(self, connection: DatabaseConnection) -> None:
        # Not in the settings of the connection: it would fail `target_session_attrs=read-write`.
        await connection.execute("SET default_transaction_read_only = on")
        await self._check(connection)

    async def open(self) -> None:
        """Prepares the pool; connections are opened when they are needed."""
        with storage_errors(self._address):
            await self._pool

    async def read(
        self, query: Callable[[DatabaseConnection], Awaitable[T]], *, snapshot: bool = False
    ) -> T:
        """Runs a query. With `snapshot`, all its statements see the same state of the database."""
        retries = self._outage.retries()
        is_silent = False
        while True:
            if self._is_closed:
                raise StorageUnavailable("The store is closed.")
            replaced = self._replaced
            try:
                with storage_errors(self._address):
                    found = await self._run(query, snapshot)
                self._outage.end()
                if replaced == self._replaced:
                    return found
                continue  # it was read from the old one
            except StorageUnavailable as failure:
                cause = failure.__cause__
                if cause is not None and not is_lost(cause):
                    raise
                self._outage.fail(failure)
                # Other open connections may have fallen silent, too: once more on a new one.
                was_silent, is_silent = is_silent, isinstance(cause, TimeoutError)
                if is_silent and not was_silent:
                    await self._pool.expire_connections()
                elif retries.are_over:
                    raise
            await retries.pause()

    async def _run(self, query: Callable[[DatabaseConnection], Awaitable[T]], snapshot: bool) -> T:
        async with self._pool.acquire() as connection:
            # A query may take long, so a connection that has fallen silent would be noticed late.
            if time.monotonic() - self._answered_at > _QUIET_SECONDS:
                await _probe(connection)
            if not snapshot:
                found = await query(connection)
            else:
                async with connection.transaction(isolation="repeatable_read", readonly=True):
                    found = await query(connection)
            self._answered_at = time.monotonic()
            return found

    async def reconnect(self) -> None:
        """Uses no open connection any more: the database was replaced by another one."""
        self._replaced += 1
        await self._pool.expire_connections()

    async def close(self) -> None:
        """Waits for running queries, then closes every connection."""
        self._is_closed = True
        try:
            await asyncio.wait_for(self._pool.close(), 5.0)
        except Exception:
            self._pool.terminate()


async def _probe(connection: DatabaseConnection) -> None:
    """Raises TimeoutError if a connection does not answer soon."""
    try:
        await connection.execute("SELECT 1", timeout=ANSWER_SECONDS)
    except TimeoutError:
        connection.terminate()  # to cancel the query, asyncpg would wait as long as for a query
        raise


async def _leave_as_it_is(connection: DatabaseConnection) -> None:
    """Replaces asyncpg's reset, which would cost a round trip after every read."""
