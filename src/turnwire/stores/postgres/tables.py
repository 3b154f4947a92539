"""The tables of a database, read and filled by a copy: see `stores.copying`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from turnwire.ports import NativeFork
from turnwire.stores.address import Address
from turnwire.stores.copying import (
    COMMON,
    CONVERSATION,
    COPIED,
    COPYING,
    OF_CONVERSATION,
    CopyFailed,
    Rows,
)
from turnwire.stores.postgres.connection import (
    DatabaseConnection,
    close_quietly,
    connect,
    storage_errors,
)
from turnwire.stores.postgres.epoch import enter_epoch, next_audit_base
from turnwire.stores.postgres.schema import new_epoch
from turnwire.stores.postgres.text import readable, storable
from turnwire.stores.records import native_of

__all__ = ["PostgresTables"]

_PAGE = 500
_SHAPES = {**OF_CONVERSATION, **COMMON}
_FLAGS = ("archived", "pinned", "owns_session", "unsettled")  # numbers in SQLite
_SETTINGS = {"jit": "off", "timezone": "UTC", "statement_timeout": "0", "lock_timeout": "10s"}

_COUNT_STORED = """
INSERT INTO stored ("user", part, bytes, conversations)
SELECT "user", -1, sum(bytes)::bigint, sum(conversations)::bigint FROM (
    SELECT "user", octet_length(state_json) + octet_length(options) AS bytes, 1 AS conversations
    FROM conversations
    UNION ALL
    SELECT c."user", octet_length(message_json) + coalesce(octet_length(metadata_json), 0), 0
    FROM messages JOIN conversations AS c USING (conversation_id)
    UNION ALL
    SELECT c."user", octet_length(data), 0
    FROM session_pieces JOIN conversations AS c USING (conversation_id)
    UNION ALL
    SELECT "user", octet_length(data), 0 FROM blobs
) AS x WHERE "user" IS NOT NULL GROUP BY "user"
"""
_COUNT_SPENT = """
INSERT INTO spent ("user", day, part, cost_usd)
SELECT "user", left(at, 10), -1, sum(cost_usd) FROM ledger GROUP BY "user", left(at, 10)
"""


def _quoted(columns: tuple[str, ...]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


class PostgresTables:
    """One connection to a database."""

    def __init__(self, address: Address, connection: DatabaseConnection) -> None:
        self._address = address
        self._db = connection
        self._reading: Any = None

    @classmethod
    async def open(cls, url: str, *, writes: bool) -> PostgresTables:
        """Opens a database to be read as it is now, or to be filled."""
        address = Address(url)
        connection = await connect(address, _SETTINGS, name="turnwire copy")
        tables = cls(address, connection)
        try:
            with storage_errors(address):
                await enter_epoch(connection, is_synchronous=None)
                if not writes:
                    tables._reading = connection.transaction(
                        isolation="repeatable_read", readonly=True
                    )
                    await tables._reading.start()
        except BaseException:
            await close_quietly(connection)
            raise
        return tables

    async def close(self) -> None:
        await close_quietly(self._db)

    # --- read -----------------------------------------------------------------------------------

    async def _meta(self, name: str) -> str | None:
        found: str | None = await self._db.fetchval("SELECT value FROM meta WHERE name = $1", name)
        return found

    async def epoch(self) -> str:
        with storage_errors(self._address):
            return str(await self._meta("epoch"))

    async def names(self) -> list[str]:
        with storage_errors(self._address):
            rows = await self._db.fetch("SELECT conversation_id FROM conversations ORDER BY number")
        return [readable(row)[0] for row in rows]

    async def conversation(self, name: str) -> tuple[Any, ...] | None:
        with storage_errors(self._address):
            row = await self._db.fetchrow(
                f"SELECT {_quoted(CONVERSATION.columns)} FROM conversations"
                " WHERE conversation_id = $1",
                storable(name),
            )
        return None if row is None else tuple(readable(row))

    async def count(self, table: str) -> int:
        with storage_errors(self._address):
            return int(await self._db.fetchval(f"SELECT count(*) FROM {table}"))

    async def rows(self, table: str, name: str | None = None) -> AsyncIterator[Rows]:
        shape = _SHAPES[table]
        where = "" if name is None else " WHERE conversation_id = $1"
        # Text is sorted byte by byte, as SQLite does.
        order = ", ".join(
            f'"{column}"' + (' COLLATE "C"' if column in _TEXTS else "") for column in shape.order
        )
        sql = f"SELECT {_quoted(shape.columns)} FROM {table}{where} ORDER BY {order}"
        named = [] if name is None else [storable(name)]
        with storage_errors(self._address):
            if self._reading is not None:
                cursor = await self._db.cursor(sql, *named)
                while page := await cursor.fetch(_PAGE):
                    yield [tuple(readable(row)) for row in page]
            else:
                async with self._db.transaction():
                    cursor = await self._db.cursor(sql, *named)
                    while page := await cursor.fetch(_PAGE):
                        yield [tuple(readable(row)) for row in page]

    # --- fill -----------------------------------------------------------------------------------

    async def begin_copy(self, of: str) -> bool:
        with storage_errors(self._address):
            used = await self._db.fetchval(
                "SELECT EXISTS (SELECT 1 FROM conversations) OR EXISTS (SELECT 1 FROM audit)"
            )
            if used and await self._meta(COPIED) == of:
                return True
            if used and await self._meta(COPYING) != of:
                raise CopyFailed(
                    "The database has conversations already. Copy into a new, empty database."
                )
            await self._set_meta(COPYING, of)
            return False

    async def add_conversation(
        self, row: tuple[Any, ...], parts: AsyncIterator[tuple[str, Rows]]
    ) -> None:
        columns = (*CONVERSATION.columns, "native_from_session")
        native = row[CONVERSATION.columns.index("native_from")]
        session = None if native is None else _session_of(native)
        with storage_errors(self._address):
            async with self._db.transaction():
                await self._copy("conversations", columns, [(*row, session)])
                async for table, rows in parts:
                    await self._copy(table, OF_CONVERSATION[table].columns, rows)

    async def add_common(self, table: str, rows: Rows) -> None:
        """Adds the rows that are missing, through a table of this transaction."""
        columns = COMMON[table].columns
        with storage_errors(self._address):
            async with self._db.transaction():
                await self._db.execute(
                    f"CREATE TEMPORARY TABLE copied (LIKE {table}) ON COMMIT DROP"
                )
                await self._db.execute(
                    "DO $$ BEGIN ALTER TABLE copied ALTER COLUMN number DROP NOT NULL;"
                    " EXCEPTION WHEN undefined_column THEN NULL; END $$"
                )
                await self._copy("copied", columns, rows)
                await self._db.execute(
                    f"INSERT INTO {table} ({_quoted(columns)}) SELECT {_quoted(columns)} FROM copied"
                    f" ORDER BY {_quoted(COMMON[table].order)} ON CONFLICT DO NOTHING"
                )

    async def _copy(self, table: str, columns: tuple[str, ...], rows: Rows) -> None:
        flags = [place for place, column in enumerate(columns) if column in _FLAGS]
        records = [list(map(storable, row)) for row in rows]
        for record in records:
            for place in flags:
                record[place] = bool(record[place])
        await self._db.copy_records_to_table(table, records=records, columns=list(columns))

    async def end_copy(self) -> str:
        epoch = new_epoch()
        with storage_errors(self._address):
            async with self._db.transaction():
                await self._db.execute("DELETE FROM stored")
                await self._db.execute("DELETE FROM spent")
                await self._db.execute(_COUNT_STORED)
                await self._db.execute(_COUNT_SPENT)
                for table in ("messages", "ledger", "session_pieces"):
                    await self._db.execute(
                        f"SELECT setval(pg_get_serial_sequence('{table}', 'number'),"
                        f" (SELECT max(number) FROM {table})) WHERE EXISTS (SELECT 1 FROM {table})"
                    )
                base = int(await self._meta("audit_base") or 0)
                await self._set_meta("audit_base", str(await next_audit_base(self._db, base)))
                await self._set_meta("epoch", epoch)
                await self._set_meta(COPIED, str(await self._meta(COPYING)))
                await self._db.execute("DELETE FROM meta WHERE name = $1", COPYING)
            await self._db.execute("ANALYZE")
        return epoch

    async def _set_meta(self, name: str, value: str) -> None:
        await self._db.execute(
            "INSERT INTO meta VALUES ($1, $2)"
            " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            value,
        )


_TEXTS = {
    *("request_id", "source_id", "user", "client_message_id", "blob_id", "at", "content"),
    *("created_at", "token_id"),
}


def _session_of(native_from: str) -> str | None:
    native: NativeFork = native_of(native_from)
    return native.session_id
