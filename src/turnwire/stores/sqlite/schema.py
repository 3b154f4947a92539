"""Migrations of the tables: numbered SQL files, each applied once in one transaction."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from turnwire.core.message_codec import decode_message
from turnwire.core.text import json_text
from turnwire.crash_points import CrashPoint, reach
from turnwire.ports import StorageUnavailable
from turnwire.stores.blob_refs import refs_of
from turnwire.stores.entry_row import LongEntry
from turnwire.stores.words import indexed, text_of

__all__ = [
    "MIGRATIONS",
    "NEWEST",
    "add_functions",
    "check_version",
    "migrate",
    "new_epoch",
    "read_meta",
    "shared_secret",
    "transaction",
]


def _read_migrations() -> list[tuple[int, str]]:
    files = sorted((Path(__file__).parent / "migrations").glob("*.sql"))
    return [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files]


MIGRATIONS = _read_migrations()

NEWEST = MIGRATIONS[-1][0]


def migrate(connection: apsw.Connection, to: int = NEWEST) -> None:
    """Applies missing migrations.

    Several processes may call this at once: one of them applies each.
    """
    version = check_version(connection)
    if version < 0:
        with transaction(connection):
            _begin_meta(connection)
    add_functions(connection)
    for number, script in MIGRATIONS:
        if version_of(connection) < number <= to:
            with transaction(connection):
                if version_of(connection) < number:  # another process may have applied it meanwhile
                    connection.execute(script)
                    connection.execute(
                        "UPDATE meta SET value = ? WHERE name = 'schema_version'", (number,)
                    )


def check_version(connection: apsw.Connection) -> int:
    """Returns the version of the tables; -1 if the file has none.

    Raises StorageUnavailable for a newer one.
    """
    version = version_of(connection)
    if version > NEWEST:
        raise StorageUnavailable(
            f"The log was written by a newer Turnwire: its schema is {version}, this version knows "
            f"{NEWEST}. Update Turnwire to use it."
        )
    return version


def add_functions(connection: apsw.Connection) -> None:
    """Adds the SQL functions that migrations and commits need."""
    for name, function in _FUNCTIONS.items():
        connection.create_scalar_function(name, function, 1, deterministic=True)


def _begin_meta(connection: apsw.Connection) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if tables and version_of(connection) < 0:
        raise _foreign()
    connection.execute(
        "CREATE TABLE IF NOT EXISTS meta (name TEXT NOT NULL PRIMARY KEY, value ANY NOT NULL) STRICT"
    )
    connection.execute(
        "INSERT OR IGNORE INTO meta VALUES ('schema_version', 0), ('epoch', ?)", (new_epoch(),)
    )


def new_epoch() -> str:
    """Returns a new random epoch."""
    return secrets.token_hex(8)


def shared_secret(connection: apsw.Connection | apsw.Cursor) -> str:
    """Returns the secret of the processes that share the file. Makes it if there is none."""
    made = secrets.token_hex(32)
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('shared_secret', ?)", (made,))
    return read_meta(connection, "shared_secret")


def read_meta(connection: apsw.Connection | apsw.Cursor, name: str) -> str:
    """Returns a value of the table `meta`."""
    value: str = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    return value


def version_of(connection: apsw.Connection) -> int:
    """Returns the schema version; -1 if the file has no tables of Turnwire."""
    if not connection.table_exists("main", "meta"):
        return -1
    try:
        version = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").get
    except apsw.SQLError:  # a table `meta` with other columns
        version = None
    if not isinstance(version, int):
        raise _foreign()
    return version


def _foreign() -> StorageUnavailable:
    return StorageUnavailable("The file is a database of another program.")


@contextmanager
def transaction(db: apsw.Connection | apsw.Cursor) -> Iterator[None]:
    """Runs statements in one transaction.

    Apsw's own transaction does not take the write lock at its start, so two writers could collide.
    A cursor that is used again has to be given: a statement of it that was not read to its end would
    keep an old snapshot, on which SQLite allows no write after that of another process.
    """
    db.execute("BEGIN IMMEDIATE")
    connection = db.connection if isinstance(db, apsw.Cursor) else db
    try:
        yield
        reach(CrashPoint.SQLITE_COMMITS)
        connection.execute("COMMIT")
        reach(CrashPoint.SQLITE_COMMITTED)
    except BaseException:
        if connection.in_transaction:  # SQLite may have rolled back already
            connection.execute("ROLLBACK")
        raise


def _search_words(*message_json: Any) -> str | None:
    text = text_of(decode_message(*message_json))
    return indexed(text) if text else None


def _blob_ids(*message_json: Any) -> str:
    return json_text([ref.blob_id for ref in refs_of(decode_message(*message_json))])


def _json_of_entry(*entry: Any) -> bytes:
    long: LongEntry = entry[0]
    return long.json()


def _sha256(*data: Any) -> bytes:
    return hashlib.sha256(*data).digest()


_FUNCTIONS = {
    "search_words": _search_words,
    "blob_ids": _blob_ids,
    "sha256": _sha256,
    "json_of_entry": _json_of_entry,
}
