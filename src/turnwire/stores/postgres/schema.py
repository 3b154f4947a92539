"""Migrations of the tables: numbered SQL files in two sets, each applied once.

`pre` files only add, so that servers of the last version keep working: they are applied before the
first new server starts. `post` files remove what only old servers need, and fill in what old servers
did not write: they are applied when the last old server has stopped.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Literal, TypeAlias

import asyncpg
from msgspec import Struct

from turnwire.stores.address import Address
from turnwire.stores.postgres.connection import (
    DatabaseConnection,
    close_quietly,
    connect,
    storage_errors,
)
from turnwire.stores.postgres.unavailable import DatabaseUnavailable

__all__ = ["Schema", "SchemaSet", "check_schema", "migrate", "new_epoch", "read_schema"]

SchemaSet: TypeAlias = Literal["pre", "post"]
FOLDER = Path(__file__).parent / "migrations"

_LOCK = 0x7475726E77697265  # the key of the advisory lock: `turnwire`
# A migration that cannot get a table waits no longer than this: every other query would wait
# behind it.
_LOCK_SECONDS = 5
_SETTINGS = {"statement_timeout": "0", "timezone": "UTC"}


class Schema(Struct, frozen=True):
    """The newest migrations of each set: of a database, or of this program."""

    pre: int = 0
    post: int = 0


def migrations(which: SchemaSet, folder: Path = FOLDER) -> list[tuple[int, str]]:
    """Returns the migrations of a set, in order."""
    files = sorted((folder / which).glob("*.sql"))
    return [(int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files]


def newest(folder: Path = FOLDER) -> Schema:
    """Returns the migrations that this program knows."""
    pre, post = (
        max((number for number, _ in migrations(which, folder)), default=0)
        for which in ("pre", "post")
    )
    return Schema(pre, post)


async def read_schema(connection: DatabaseConnection) -> Schema | None:
    """Returns the migrations of a database; None if it has no tables of Turnwire."""
    if await connection.fetchval("SELECT to_regclass('meta')") is None:
        return None
    try:
        rows = await connection.fetch(
            "SELECT name, value FROM meta WHERE name IN ('schema_pre', 'schema_post')"
        )
        found = {row["name"]: int(row["value"]) for row in rows}
        return Schema(found["schema_pre"], found["schema_post"])
    except (KeyError, ValueError, asyncpg.UndefinedColumnError) as error:
        raise DatabaseUnavailable(
            "The database has a table `meta` of another program. Create a database for Turnwire."
        ) from error


def check_schema(found: Schema | None, known: Schema) -> None:
    """Raises StorageUnavailable, with the command to run, if the tables do not fit this program."""
    if found is None:
        raise DatabaseUnavailable(
            "The database has no tables of Turnwire. Create them: turnwire db migrate"
        )
    if found.pre < known.pre:
        raise DatabaseUnavailable(
            f"The database was made by an older Turnwire: its schema is {found.pre}, this version"
            f" needs {known.pre}. Update it: turnwire db migrate"
        )
    check_not_newer(found, known)


def check_not_newer(found: Schema, known: Schema) -> None:
    """Raises StorageUnavailable if a newer program has removed what this one needs."""
    if found.post > known.post:
        raise DatabaseUnavailable(
            f"The database was changed by a newer Turnwire: its schema is {found.pre}.{found.post},"
            f" this version knows {known.pre}.{known.post}. Update Turnwire: pip install --upgrade"
            " turnwire"
        )


async def migrate(
    address: Address, which: SchemaSet = "pre", *, folder: Path = FOLDER
) -> list[str]:
    """Applies the missing migrations of a set, one transaction each. Returns their names.

    Several processes may call this at once: an advisory lock lets one of them apply each. Raises
    StorageUnavailable if a table is in use for too long, and what was applied stays; if a newer
    program has removed what this one needs; or if servers run that still need what is removed.
    """
    connection = await connect(address, _SETTINGS, name="turnwire migrate")
    try:
        with storage_errors(address):
            await connection.execute("SELECT pg_advisory_lock($1)", _LOCK, timeout=3600)
            await connection.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
            found = await read_schema(connection)
            if found is not None:
                check_not_newer(found, newest(folder))
            return [
                f"{which}/{number:04}"
                for number, script in migrations(which, folder)
                if await _apply(connection, which, number, script)
            ]
    finally:
        await close_quietly(connection)


async def _apply(
    connection: DatabaseConnection, which: SchemaSet, number: int, script: str
) -> bool:
    async with connection.transaction():
        found = await read_schema(connection)
        if found is None:
            if which == "post":
                raise DatabaseUnavailable(
                    "The database has no tables of Turnwire. Create them: turnwire db migrate"
                )
            await _begin_meta(connection)
            found = Schema()
        if getattr(found, which) >= number:
            return False
        if which == "post":
            await _check_nodes(connection, number)
        await connection.execute(script, timeout=24 * 3600)
        await connection.execute(
            "UPDATE meta SET value = $2 WHERE name = $1", f"schema_{which}", str(number)
        )
        return True


async def _check_nodes(connection: DatabaseConnection, number: int) -> None:
    """Raises StorageUnavailable if servers run that do not know a migration of the set `post`."""
    rows = await connection.fetch(
        "SELECT node, versions::json ->> 'schema' AS schema FROM nodes"
        " WHERE lease_until > extract(epoch FROM clock_timestamp()) * 1000"
    )
    old = [row["node"] for row in rows if _post_of(row["schema"]) < number]
    if old:
        raise DatabaseUnavailable(
            f"Servers of an older Turnwire still use the database: {', '.join(sorted(old))}. Stop"
            " them first (turnwire nodes)."
        )


def _post_of(schema: str | None) -> int:
    """Returns the newest migration of the set `post` that a node knows: `2` of `7.2`."""
    post = (schema or "").partition(".")[2]
    return int(post) if post.isdecimal() else 0


async def _begin_meta(connection: DatabaseConnection) -> None:
    await connection.execute(
        'CREATE TABLE meta (name text COLLATE "C" NOT NULL PRIMARY KEY, value text NOT NULL)'
    )
    await connection.executemany(
        "INSERT INTO meta VALUES ($1, $2)",
        [
            ("schema_pre", "0"),
            ("schema_post", "0"),
            ("epoch", new_epoch()),
            ("audit_base", "0"),
        ],
    )


def new_epoch() -> str:
    """Returns a new random epoch."""
    return secrets.token_hex(8)
