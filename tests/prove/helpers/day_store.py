"""The store of a day: a SQLite file, or a PostgreSQL database; and how its rows are read.

Rows are read with SQL, without any of our code for it, so that a fault of a store cannot hide itself.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import sqlite3
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from turnwire.crash_points import CrashPoint
from turnwire.stores.address import is_database

__all__ = [
    "OF_SURVIVORS",
    "OF_THE_EXPELLED",
    "STORES",
    "DatabaseRows",
    "Rows",
    "StoreName",
    "address_in",
    "holds_lock",
    "keep_address",
    "open_rows",
    "points_of",
]

StoreName: TypeAlias = Literal["sqlite", "postgres"]
STORES: tuple[StoreName, ...] = ("sqlite", "postgres")
PATIENCE = 60.0  # seconds; a restart of the database takes one or two


# Points that a server passes only if there are others, and those that need a fault of this or another node.
OF_SEVERAL = ("node_", "attach", "follow", "forward", "carries_out", "answers")
OF_SURVIVORS = ("takes_over", "took_over")
OF_THE_EXPELLED = ("expelled",)


def points_of(store: StoreName, *, nodes: bool = False) -> list[str]:
    """Returns the names of the crash points that a day on this store passes."""
    others = [f"{name}_" for name in STORES if name != store]
    if not nodes:
        others += [*OF_SEVERAL, *OF_SURVIVORS, *OF_THE_EXPELLED]
    names = [point.name.lower() for point in CrashPoint]
    return [name for name in names if not name.startswith(tuple(others))]


def keep_address(folder: Path, address: str) -> None:
    """Lets the days in a folder use the database at this address."""
    (folder / "address").write_text(address, encoding="utf-8")


def address_in(folder: Path) -> str:
    """Returns the address of the store of the days in a folder."""
    kept = folder / "address"
    return kept.read_text(encoding="utf-8") if kept.exists() else str(folder / "log.db")


class Rows(Protocol):
    """Reads rows of a store. The SQL has a `?` for each value."""

    def read(self, sql: str, *values: Any) -> Sequence[Sequence[Any]]: ...

    def close(self) -> None: ...


class FileRows:
    """The rows of the file, for the process that also has a store on it."""

    def __init__(self, path: str) -> None:
        import apsw

        # Not with another library than the store's: two in one process undo each other's locks.
        self._file = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)

    def read(self, sql: str, *values: Any) -> Sequence[Sequence[Any]]:
        return self._file.execute(sql, values).fetchall()

    def close(self) -> None:
        self._file.close()


class DatabaseRows:
    """The rows of a database. The caller's event loop stands still meanwhile, as with a file."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection: Any = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def _run(self, call: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()

    def read(self, sql: str, *values: Any) -> Sequence[Sequence[Any]]:
        numbers = itertools.count(1)
        numbered = re.sub(r"\?", lambda _: f"${next(numbers)}", sql)
        return [tuple(row) for row in self._run(self._fetch(numbered, values))]

    async def _fetch(self, sql: str, values: Sequence[Any]) -> Sequence[Any]:
        """Reads rows; again if the server is restarted meanwhile."""
        import asyncpg

        from turnwire.stores.postgres.connection import is_lost

        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                if self._connection is None:
                    self._connection = await asyncpg.connect(self._address)
                rows: Sequence[Any] = await self._connection.fetch(sql, *values)
                return rows
            except Exception as failure:
                await self._drop()
                if not is_lost(failure) or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.02)

    async def _drop(self) -> None:
        """Ends the connection, but not in order: the server may be restarted at this moment."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()
            await asyncio.sleep(0)  # the socket is closed in the next round of the loop

    def close(self) -> None:
        self._run(self._drop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def open_rows(address: str) -> Rows:
    """Opens the store at an address for reading, next to a store of this process."""
    return DatabaseRows(address) if is_database(address) else FileRows(address)


def holds_lock(address: str) -> bool:
    """Returns whether a server that has just been suspended was in the middle of a write."""
    return holds_lock_of_database(address) if is_database(address) else holds_lock_of_file(address)


def holds_lock_of_file(path: str) -> bool:
    db = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return True
    finally:
        db.close()
    return False


def holds_lock_of_database(address: str) -> bool:
    rows = open_rows(address)
    try:
        busy = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database()"
        # One that is still active with a transaction may be waiting for the server soon.
        holds = "state LIKE 'idle in transaction%' OR backend_xid IS NOT NULL"
        return bool(rows.read(f"{busy} AND pid <> pg_backend_pid() AND ({holds})"))
    finally:
        rows.close()
