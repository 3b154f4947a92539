"""A SQLite file, as fsck reads and writes it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from typing import Any

import apsw

from turnwire.ports import Claim, Commit
from turnwire.stores.commit_rows import Row
from turnwire.stores.fsck.database import Unreadable
from turnwire.stores.fsck.finding import Finding
from turnwire.stores.sqlite.changes import claim_conversation, release_claim
from turnwire.stores.sqlite.commit import ADD_AUDIT, CommitJob
from turnwire.stores.sqlite.fsck import file, search
from turnwire.stores.sqlite.schema import add_functions, transaction

__all__ = ["SqliteDatabase"]

_DAMAGE = (apsw.CorruptError, apsw.IOError, apsw.NotADBError)
_NUMBERS = "SELECT number FROM messages WHERE conversation_id = ? AND sequence_num = ?"


class SqliteDatabase:
    """One connection; see `turnwire.stores.fsck.database.Database`."""

    own_tables: Sequence[str] = ()
    count_again = """
    INSERT INTO stored ("user", bytes, conversations) VALUES ($1, $2, $3) ON CONFLICT ("user")
    DO UPDATE SET bytes = bytes + excluded.bytes, conversations = conversations + excluded.conversations
    """

    def __init__(self, db: apsw.Connection, now: int) -> None:
        self._db = db
        self._now = now

    async def rows(self, sql: str, *values: Any) -> list[Any]:
        with _damage():
            return self._db.execute(_numbered(sql), values).fetchall()

    async def run(self, sql: str, rows: Sequence[Row]) -> None:
        with _damage():
            self._db.executemany(_numbered(sql), rows)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[None]:
        with search.snapshot(self._db):
            yield

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        with _damage(), transaction(self._db):
            yield

    async def lock(self, conversation_id: str) -> bool:
        return True  # a transaction has the whole file

    async def names(self) -> list[Any]:
        return await self.rows("SELECT conversation_id, head FROM conversations ORDER BY rowid")

    # --- the whole file -------------------------------------------------------------------------

    async def check_storage(self, *, repair: bool) -> tuple[list[Finding], bool]:
        found, can_go_on = file.check_file(self._db, repair=repair)
        add_functions(self._db)
        return found, can_go_on

    async def restore_indexes(self) -> None:
        """Does nothing: the check of the file has done it."""

    async def wrong_words(self) -> AsyncIterator[tuple[int, Finding]]:
        with _damage():
            for each in search.wrong_words(self._db):
                yield each

    async def index_again(self, keys: Sequence[int]) -> None:
        with _damage(), transaction(self._db):
            for number in keys:
                search.index_again(self._db, number)

    async def wrong_counters(self) -> list[Finding]:
        return []

    async def count_all(self) -> None:
        """Does nothing: a file has no other counters."""

    # --- one conversation -----------------------------------------------------------------------

    async def entries_changed(
        self, conversation_id: str, changed: Sequence[int], *, moved: bool
    ) -> None:
        with _damage():
            for sequence in changed:
                number = self._db.execute(_NUMBERS, (conversation_id, sequence)).get
                search.index_again(self._db, number)

    async def written(self, conversation_id: str) -> None:
        """Does nothing: triggers count what is stored."""

    async def add_audit(self, rows: Sequence[Row]) -> None:
        await self.run(ADD_AUDIT, rows)

    async def commit(
        self, conversation_id: str, owner: str, make: Callable[[Claim], Commit]
    ) -> None:
        with _damage():
            cursor = self._db.cursor()
            claim = claim_conversation(cursor, conversation_id, owner, self._now, 0)
            job = CommitJob(make(claim), raw_limit=0)
            job.run(cursor)
            job.settle(cursor)
            release_claim(cursor, claim)

    async def remove_blob(self, blob_id: str) -> bool:
        await self.run(
            "DELETE FROM blobs WHERE blob_id = $1"
            " AND NOT EXISTS (SELECT 1 FROM blob_uses WHERE blob_id = $1)",
            [(blob_id,)],
        )
        return bool(self._db.changes())


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except _DAMAGE as failure:
        raise Unreadable(str(failure)) from failure


@lru_cache(maxsize=256)
def _numbered(sql: str) -> str:
    """Returns a statement with SQLite's names of arguments: ?1, ?2, ..."""
    return re.sub(r"\$(\d+)", r"?\1", sql)
