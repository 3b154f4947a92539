"""The tables of a SQLite file, read and filled by a copy: see `stores.copying`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import islice
from typing import Any, TypeVar

import apsw

from turnwire.stores.copying import (
    COMMON,
    CONVERSATION,
    COPIED,
    COPYING,
    OF_CONVERSATION,
    CopyFailed,
    Rows,
)
from turnwire.stores.sqlite.connection import close_quietly, connect, storage_errors
from turnwire.stores.sqlite.schema import migrate, new_epoch, read_meta, transaction

__all__ = ["SqliteTables"]

T = TypeVar("T")

_PAGE = 500
_SHAPES = {**OF_CONVERSATION, **COMMON}


def _read(table: str, *, of_one: bool) -> str:
    shape = _SHAPES[table]
    where = " WHERE conversation_id = ?" if of_one else ""
    # Text is sorted byte by byte.
    return (
        f"SELECT {', '.join(shape.columns)} FROM {table}{where} ORDER BY {', '.join(shape.order)}"
    )


def _write(table: str, columns: tuple[str, ...], *, ignore: bool = False) -> str:
    values = ", ".join("?" * len(columns))
    do = "INSERT OR IGNORE INTO" if ignore else "INSERT INTO"
    return f"{do} {table} ({', '.join(columns)}) VALUES ({values})"


class SqliteTables:
    """One connection to a file. Everything runs in threads, one call at a time."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._db = connection

    @classmethod
    async def open(cls, path: str, *, writes: bool) -> SqliteTables:
        """Opens a file to be read as it is now, or to be filled."""

        def opened() -> apsw.Connection:
            connection = connect(path, busy_ms=5000, writes=writes)
            with storage_errors():
                if writes:
                    migrate(connection)
                else:
                    connection.execute("BEGIN")  # reads one state of the file
                    read_meta(connection, "epoch")
            return connection

        return cls(await asyncio.to_thread(opened))

    async def close(self) -> None:
        await asyncio.to_thread(close_quietly, self._db)

    async def _run(self, work: Any, *arguments: Any) -> Any:
        def run() -> Any:
            with storage_errors():
                return work(*arguments)

        return await asyncio.to_thread(run)

    async def _fetch(self, sql: str, *arguments: Any) -> list[Any]:
        found: list[Any] = await self._run(lambda: self._db.execute(sql, arguments).fetchall())
        return found

    # --- read -----------------------------------------------------------------------------------

    async def epoch(self) -> str:
        return str(await self._run(read_meta, self._db, "epoch"))

    async def names(self) -> list[str]:
        found = await self._fetch("SELECT conversation_id FROM conversations ORDER BY rowid")
        return [name for (name,) in found]

    async def conversation(self, name: str) -> tuple[Any, ...] | None:
        columns = ", ".join(CONVERSATION.columns)
        found = await self._fetch(
            f"SELECT {columns} FROM conversations WHERE conversation_id = ?", name
        )
        return found[0] if found else None

    async def count(self, table: str) -> int:
        [(found,)] = await self._fetch(f"SELECT count(*) FROM {table}")
        return int(found)

    async def rows(self, table: str, name: str | None = None) -> AsyncIterator[Rows]:
        cursor = self._db.cursor()
        named = () if name is None else (name,)
        await self._run(cursor.execute, _read(table, of_one=name is not None), named)
        while True:
            page: Rows = await self._run(lambda: list(islice(cursor, _PAGE)))
            if not page:
                return
            yield page

    # --- fill -----------------------------------------------------------------------------------

    async def begin_copy(self, of: str) -> bool:
        def begin() -> bool:
            with transaction(self._db):
                marks = dict(
                    self._db.execute(
                        "SELECT name, value FROM meta WHERE name IN (?, ?)", (COPYING, COPIED)
                    )
                )
                used: Any = self._db.execute(
                    "SELECT EXISTS (SELECT 1 FROM conversations) OR EXISTS (SELECT 1 FROM audit)"
                ).get
                if used and marks.get(COPIED) == of:
                    return True
                if used and marks.get(COPYING) != of:
                    raise CopyFailed(
                        "The file has conversations already. Copy into a new, empty file."
                    )
                self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (COPYING, of))
                return False

        is_complete: bool = await self._run(begin)
        return is_complete

    async def add_conversation(
        self, row: tuple[Any, ...], parts: AsyncIterator[tuple[str, Rows]]
    ) -> None:
        db = self._db
        await self._run(db.execute, "BEGIN IMMEDIATE")
        try:
            await self._run(db.execute, _write("conversations", CONVERSATION.columns), row)
            async for table, rows in parts:
                sql = _write(table, OF_CONVERSATION[table].columns)
                await self._run(db.executemany, sql, rows)
            await self._run(
                db.execute,
                "INSERT INTO search (rowid, words) SELECT number, words FROM (SELECT number,"
                " search_words(message_json) AS words FROM messages WHERE conversation_id = ?)"
                " WHERE words IS NOT NULL",
                (row[0],),
            )
            await self._run(db.execute, "COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    async def add_common(self, table: str, rows: Rows) -> None:
        sql = _write(table, COMMON[table].columns, ignore=True)

        def add() -> None:
            with transaction(self._db):
                self._db.executemany(sql, rows)

        await self._run(add)

    async def end_copy(self) -> str:
        epoch = new_epoch()

        def end() -> None:
            with transaction(self._db):
                self._db.execute("UPDATE meta SET value = ? WHERE name = 'epoch'", (epoch,))
                self._db.execute("DELETE FROM meta WHERE name = ?", (COPIED,))
                self._db.execute("UPDATE meta SET name = ? WHERE name = ?", (COPIED, COPYING))
            self._db.pragma("wal_checkpoint(truncate)")

        await self._run(end)
        return epoch
