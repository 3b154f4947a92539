"""A PostgreSQL database, as fsck reads and writes it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any

import asyncpg

from turnwire.ports import Claim, Commit, StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.commit_rows import Row
from turnwire.stores.fsck.database import Unreadable
from turnwire.stores.fsck.finding import Finding
from turnwire.stores.postgres.batch import arguments_of, statement_for, tables_of
from turnwire.stores.postgres.changes import (
    ADD_STORED,
    COUNTED_PART,
    SIZE_OF_LOG,
    add_audit,
    add_stored,
    claim_conversation,
    release_claim,
)
from turnwire.stores.postgres.commit import CommitRows
from turnwire.stores.postgres.connection import DatabaseConnection, storage_errors
from turnwire.stores.postgres.epoch import enter_epoch
from turnwire.stores.postgres.fsck import search
from turnwire.stores.postgres.schema import check_schema, migrate, newest, read_schema
from turnwire.stores.postgres.search import Written, index_texts
from turnwire.stores.postgres.text import readable, storable, stored_text
from turnwire.stores.postgres.versions import Versions

__all__ = ["PostgresDatabase"]

_KEY = 0x7475726E6673636B  # of the advisory lock: `turnfsck`
_TIMEOUT = 24 * 3600  # seconds: one statement may read all rows
_AUDITED = 2048  # places of fsck's own rows in the audit trail, after those of a recovery

# The server has read something that it cannot have written.
_DAMAGE = (
    asyncpg.exceptions.InternalServerError,
    asyncpg.exceptions.PostgresIOError,
    asyncpg.exceptions.UndefinedFileError,
    UnicodeDecodeError,
)

_SIZE = f"""
SELECT "user", octet_length(state_json) + octet_length(options) + ({SIZE_OF_LOG})
FROM conversations WHERE conversation_id = $1
"""
# What the ledger has, less what is counted: commits change both.
_SPENT = """
SELECT "user", day, sum(cost_usd) FROM (
    SELECT "user", left(at, 10) AS day, cost_usd FROM ledger
    UNION ALL
    SELECT "user", day, -cost_usd FROM spent
) AS x GROUP BY "user", day HAVING abs(sum(cost_usd)) > 1e-6 ORDER BY "user", day
"""
_COUNT_SPENT = f"""
INSERT INTO spent AS s ("user", day, part, cost_usd) VALUES ($1, $2, {COUNTED_PART}, $3)
ON CONFLICT ("user", day, part) DO UPDATE SET cost_usd = s.cost_usd + excluded.cost_usd
"""
_REMOVE_BLOB = """
DELETE FROM blobs
WHERE blob_id = $1 AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_id = $1)
RETURNING "user", octet_length(data)
"""


class PostgresDatabase:
    """One connection; see `turnwire.stores.fsck.database.Database`."""

    own_tables: Sequence[str] = ("search_progress",)
    count_again = ADD_STORED

    def __init__(self, address: Address, connection: DatabaseConnection, now: int) -> None:
        self._address = address
        self._db = connection
        self._now = now
        self._audit_base = 0
        self._size = 0  # of the locked conversation, before it is written

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with storage_errors(self._address):
                yield
        except Exception as failure:
            cause = failure.__cause__ or failure
            if isinstance(cause, _DAMAGE):
                raise Unreadable(self._address.without_secrets(str(cause))) from failure
            raise

    async def rows(self, sql: str, *values: Any) -> list[Any]:
        with self._errors():
            found = await self._db.fetch(sql, *map(storable, values), timeout=_TIMEOUT)
            return [readable(row) for row in found]

    async def run(self, sql: str, rows: Sequence[Row]) -> None:
        if rows:
            with self._errors():
                stored = [tuple(map(storable, row)) for row in rows]
                await self._db.executemany(sql, stored, timeout=_TIMEOUT)

    def snapshot(self) -> AbstractAsyncContextManager[None]:
        return self._transaction(isolation="repeatable_read", readonly=True)

    def transaction(self) -> AbstractAsyncContextManager[None]:
        return self._transaction()

    @asynccontextmanager
    async def _transaction(self, **options: Any) -> AsyncIterator[None]:
        with self._errors():
            async with self._db.transaction(**options):
                yield

    async def lock(self, conversation_id: str) -> bool:
        """Locks the row of a conversation: every commit and every claim changes it."""
        try:
            with self._errors():
                await self._db.execute(
                    "SELECT 1 FROM conversations WHERE conversation_id = $1 FOR UPDATE",
                    stored_text(conversation_id),
                )
        except StorageUnavailable as failure:
            if isinstance(failure.__cause__, asyncpg.LockNotAvailableError):
                return False
            raise
        _, self._size = await self._size_of(conversation_id)
        return True

    async def _size_of(self, conversation_id: str) -> tuple[str | None, int]:
        found = await self.rows(_SIZE, conversation_id)
        return (found[0][0], found[0][1]) if found else (None, 0)

    async def names(self) -> list[Any]:
        return await self.rows("SELECT conversation_id, head FROM conversations ORDER BY number")

    # --- the whole database ---------------------------------------------------------------------

    async def check_storage(self, *, repair: bool) -> tuple[list[Finding], bool]:
        with self._errors():
            if repair and not await self._db.fetchval("SELECT pg_try_advisory_lock($1)", _KEY):
                raise StorageUnavailable(
                    "Another `turnwire fsck --repair` works on this database. Wait until it has"
                    " ended, then run this again."
                )
            schema, known = await read_schema(self._db), newest()
            findings = []
            if schema is not None and schema.pre < known.pre:
                what = f"The database has schema {schema.pre}; this version of Turnwire has {known.pre}."
                findings.append(Finding("schema_old", what, repaired=repair))
                if not repair:
                    return findings, False
                await migrate(self._address)
            check_schema(await read_schema(self._db), known)
            if repair:
                epoch = await enter_epoch(self._db, is_synchronous=None)
                self._audit_base = epoch.audit_base
        return findings, True

    async def restore_indexes(self) -> None:
        names = await self.rows(
            "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
        )
        for (name,) in names:
            with suppress(Unreadable), self._errors():  # what cannot be read is reported as such
                await self._db.execute(f'REINDEX TABLE "{name}"', timeout=_TIMEOUT)

    async def wrong_words(self) -> AsyncIterator[tuple[Any, Finding]]:
        page: search.Page | None = search.Page()
        while page is not None:
            async with self.snapshot():
                found, page = await search.wrong_words(self._db, page)
            for each in found:
                yield each
        async with self.snapshot():
            found = await search.wrong_rows(self._db)
        for each in found:
            yield each

    async def index_again(self, keys: Sequence[Any]) -> None:
        for batch in search.batches(keys):
            async with self.transaction():
                await search.index_again(self._db, batch)

    async def wrong_counters(self) -> list[Finding]:
        said = "The counter is wrong by {:.6f} USD."
        return [
            Finding(
                "counter_wrong",
                said.format(-cost),
                None,
                f"spent by {'the owner' if user is None else user} on {day}",
            )
            for user, day, cost in await self.rows(_SPENT)
        ]

    async def count_all(self) -> None:
        await self.run(_COUNT_SPENT, await self.rows(_SPENT))

    # --- one conversation -----------------------------------------------------------------------

    async def entries_changed(
        self, conversation_id: str, changed: Sequence[int], *, moved: bool
    ) -> None:
        name = stored_text(conversation_id)
        with self._errors():
            if moved:
                await search.move(self._db, name)
            for batch in search.batches([search.Key(name, number) for number in changed]):
                await search.index_again(self._db, batch)

    async def written(self, conversation_id: str) -> None:
        with self._errors():
            await self._db.execute(
                "UPDATE conversations SET version = version + 1 WHERE conversation_id = $1",
                stored_text(conversation_id),
            )
            user, size = await self._size_of(conversation_id)
            if user is not None:
                await add_stored(self._db, stored_text(user), size - self._size, 0)

    async def add_audit(self, rows: Sequence[Row]) -> None:
        with self._errors():
            await add_audit(self._db, self._audit_base, *rows, first=_AUDITED)

    async def commit(
        self, conversation_id: str, owner: str, make: Callable[[Claim], Commit]
    ) -> None:
        with self._errors():
            versions = Versions()
            claim = await claim_conversation(
                self._db, versions, conversation_id, owner, self._now, 0, None
            )
            rows = CommitRows(make(claim), raw_limit=0)
            tables = tables_of([rows])
            arguments = arguments_of(
                [rows],
                [versions.get(rows.name)],
                tables,
                part=COUNTED_PART,
                audit_base=self._audit_base,
            )
            [(_, _, number)] = await self._db.fetch(statement_for(tables), *arguments)
            # The head is not noted: entries before these may not be indexed yet.
            await index_texts(self._db, [Written(rows.name, number, 0, rows.words)])
            await release_claim(self._db, claim)

    async def remove_blob(self, blob_id: str) -> bool:
        with self._errors():
            removed = await self._db.fetchrow(_REMOVE_BLOB, stored_text(blob_id))
            if removed is not None and removed[0] is not None:
                await add_stored(self._db, removed[0], -removed[1], 0)
            return removed is not None
