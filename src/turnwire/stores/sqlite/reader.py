"""Reads the store in threads, so that the event loop waits for neither disk nor writer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock, local
from typing import Any, TypeVar

import apsw

from turnwire.long_work import mapped_in_slices
from turnwire.ports import StorageUnavailable
from turnwire.stores.records import Kinds
from turnwire.stores.sqlite.connection import close_quietly, connect, storage_errors
from turnwire.stores.sqlite.packed import Packed, unpacked
from turnwire.stores.sqlite.watch import WatchedFile

__all__ = ["Reader"]

T = TypeVar("T")


class Reader:
    """A small thread pool; each thread opens its connection when it first needs one."""

    def __init__(
        self,
        file: WatchedFile,
        *,
        threads: int,
        busy_ms: int,
        vfs: str | None,
        replaced: Callable[[], None],
    ) -> None:
        self._file = file
        self._busy_ms = busy_ms
        self._vfs = vfs
        self._replaced = replaced  # notifies the writer, which opens the new file first
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="turnwire-reader")
        self._own = local()
        self._lock = Lock()
        self._opened: set[apsw.Connection] = set()

    async def read(self, query: Callable[[apsw.Connection], T]) -> T:
        """Runs a query in a thread. The query sees everything that was committed before."""
        loop = asyncio.get_running_loop()
        try:
            future = loop.run_in_executor(self._pool, self._run, query)
        except RuntimeError as closed:
            raise StorageUnavailable("The store is closed.") from closed
        return await future

    async def read_rows(
        self,
        query: Callable[[apsw.Connection], Packed],
        kinds: Kinds,
        decode: Callable[[list[Any]], T],
    ) -> list[T]:
        """Runs a query in a thread, and decodes its rows on the event loop, in slices."""
        return await mapped_in_slices(decode, unpacked(await self.read(query), kinds))

    def close(self) -> None:
        """Waits for running queries, then closes every connection."""
        self._pool.shutdown()
        for connection in self._opened:
            close_quietly(connection)
        self._opened.clear()

    def _run(self, query: Callable[[apsw.Connection], T]) -> T:
        with storage_errors():
            return query(self._connection())

    def _connection(self) -> apsw.Connection:
        file = self._file
        connection: apsw.Connection | None = getattr(self._own, "connection", None)
        file.look(connection)
        if file.generation != file.opened:
            self._replaced()
            raise StorageUnavailable(
                "The log's file was replaced. The new file is being opened. Try again.",
                cause="replaced",
            )
        if connection is not None and self._own.generation != file.opened:
            with self._lock:
                self._opened.discard(connection)
            close_quietly(connection)
            connection = None
        if connection is None:
            self._own.generation = file.opened
            connection = connect(file.path, busy_ms=self._busy_ms, vfs=self._vfs)
            self._own.connection = connection
            self._own.version = 0
            with self._lock:
                self._opened.add(connection)
        self._own.version = file.look_inside(connection, self._own.version)
        return connection
