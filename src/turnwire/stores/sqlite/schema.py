"""The tables, brought up to date by numbered files, each applied once and whole."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import apsw

from turnwire.core.message_codec import decode_message
from turnwire.crash_points import CrashPoint, reach
from turnwire.ports import StorageUnavailable
from turnwire.stores.words import indexed, text_of

__all__ = ["MIGRATIONS", "migrate", "new_epoch", "read_meta", "transaction"]


def _read_migrations() -> list[tuple[int, str]]:
    folder = resources.files(__package__) / "migrations"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files]


MIGRATIONS = _read_migrations()

NEWEST = MIGRATIONS[-1][0]


def migrate(connection: apsw.Connection, to: int = NEWEST) -> None:
    """Apply what is not applied yet. Several processes may do this at once: one does it."""
    if (version := _version(connection)) > NEWEST:
        raise StorageUnavailable(
            f"The log was written by a newer Turnwire: its schema is {version}, this one knows "
            f"{NEWEST}. Update Turnwire to open it."
        )
    if version < 0:
        with transaction(connection):
            _begin_meta(connection)
    connection.create_scalar_function("search_words", _search_words, 1, deterministic=True)
    for number, script in MIGRATIONS:
        if _version(connection) < number <= to:
            with transaction(connection):
                if _version(connection) < number:  # another process may have been faster
                    connection.execute(script)
                    connection.execute(
                        "UPDATE meta SET value = ? WHERE name = 'schema_version'", (number,)
                    )


def _begin_meta(connection: apsw.Connection) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if tables and _version(connection) < 0:
        raise _foreign()
    connection.execute(
        "CREATE TABLE IF NOT EXISTS meta (name TEXT NOT NULL PRIMARY KEY, value ANY NOT NULL) STRICT"
    )
    connection.execute(
        "INSERT OR IGNORE INTO meta VALUES ('schema_version', 0), ('epoch', ?)", (new_epoch(),)
    )


def new_epoch() -> str:
    """A name that no log has."""
    return secrets.token_hex(8)


def read_meta(connection: apsw.Connection, name: str) -> str:
    """What the file says about itself."""
    value: str = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    return value


def _version(connection: apsw.Connection) -> int:
    """-1: there is nothing of ours."""
    if not connection.table_exists("main", "meta"):
        return -1
    try:
        version = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").get
    except apsw.SQLError:  # other columns
        version = None
    if not isinstance(version, int):
        raise _foreign()
    return version


def _foreign() -> StorageUnavailable:
    return StorageUnavailable("The file is a database of another program.")


@contextmanager
def transaction(connection: apsw.Connection) -> Iterator[None]:
    """All or nothing. Apsw's own way does not take the lock at once, so two could collide."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        reach(CrashPoint.SQLITE_COMMITS)
        connection.execute("COMMIT")
        reach(CrashPoint.SQLITE_COMMITTED)
    except BaseException:
        if connection.in_transaction:  # SQLite may have rolled back by itself
            connection.execute("ROLLBACK")
        raise


def _search_words(*message_json: Any) -> str | None:
    text = text_of(decode_message(*message_json))
    return indexed(text) if text else None
