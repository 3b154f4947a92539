"""The epoch of the log: a new one when the database is another one than before.

A standby that was promoted, or a copy that was restored, may lack what was acknowledged. It has
another timeline, another system identifier, or another number in the same server. Then every
conversation is disowned, and clients begin again. Each connection reads all three when it is opened.
"""

from __future__ import annotations

import asyncpg
from msgspec import Struct

from turnwire.ports import StorageUnavailable
from turnwire.stores.postgres.audit import MOST_ROWS
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.schema import Schema, check_schema, new_epoch, newest, read_schema

__all__ = ["Epoch", "check_not_older", "enter_epoch", "next_audit_base", "read_origin"]

_JUMP = 1 << 32  # more claims than the original will ever have
_KEY = 0x7475726E65706F63  # of the advisory lock: `turnepoc`

# The file that is written now names the timeline; the last checkpoint may still name the old one.
_ORIGIN = """
(SELECT CASE WHEN NOT pg_is_in_recovery()
    THEN system_identifier::text || '.' || oid || '/'
        || left(pg_walfile_name(pg_current_wal_lsn()), 8) END
FROM pg_control_system(), pg_database WHERE datname = current_database())
"""
# Everything that a new connection needs, in one statement. An acknowledged commit is durable,
# whatever the server's setting for other programs is.
_ENTER = f"""
SELECT {_ORIGIN}, ARRAY(SELECT name || '=' || value FROM meta),
    set_config('synchronous_commit', CASE WHEN s = ANY($1::text[]) THEN 'on' ELSE s END, false)
FROM current_setting('synchronous_commit') AS s
"""
_SYNCHRONOUS = "synchronous_replication"  # in meta: what the last server has declared


class Epoch(Struct, frozen=True):
    """The incarnation of the log that a connection has found."""

    epoch: str
    audit_base: int  # added to the numbers of the audit trail
    origin: str  # the system identifier, the number of the database, and the timeline


async def read_origin(connection: DatabaseConnection) -> str:
    """Returns the origin of the database. Raises StorageUnavailable on a standby."""
    return _promoted(await connection.fetchval(f"SELECT {_ORIGIN}"))


def _promoted(origin: str | None) -> str:
    if origin is None:
        raise StorageUnavailable(
            "The database is a standby that is not promoted: it can only be read."
        )
    return origin


def check_not_older(found: str, known: str) -> None:
    """Raises StorageUnavailable if another server was promoted in place of this one."""
    system, _, timeline = found.partition("/")
    known_system, _, newest_timeline = known.partition("/")
    if system == known_system and timeline < newest_timeline:
        raise StorageUnavailable(
            f"This database is of timeline {int(timeline, 16)}, but a standby was promoted to"
            f" timeline {int(newest_timeline, 16)}. Stop the old primary, and let the address lead"
            " to the promoted server only."
        )


async def enter_epoch(connection: DatabaseConnection, *, is_synchronous: bool | None) -> Epoch:
    """Checks the tables of a new connection, and returns the epoch of the log.

    With `is_synchronous` a promoted standby has everything that was acknowledged: another timeline
    alone begins no new epoch. None: as the last server has declared.
    """
    weak = ["off", "local"] if is_synchronous else ["off"]
    try:
        found, rows, _ = await connection.fetchrow(_ENTER, weak)
        meta = dict(row.split("=", 1) for row in rows)
        check_schema(Schema(int(meta["schema_pre"]), int(meta["schema_post"])), newest())
    except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, KeyError, ValueError):
        check_schema(await read_schema(connection), newest())  # says what is wrong
        raise
    origin = _promoted(found)
    declared = meta.get(_SYNCHRONOUS, "off")
    if is_synchronous is not None:
        declared = "on" if is_synchronous else "off"
    if (meta.get("origin"), meta.get(_SYNCHRONOUS, "off")) == (origin, declared):
        return Epoch(meta["epoch"], int(meta["audit_base"]), origin)
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _KEY)
        meta = await _read_meta(connection)
        if _is_another(meta.get("origin"), origin, declared == "on"):
            meta["epoch"] = new_epoch()
            await _write_meta(connection, "epoch", meta["epoch"])
            await disown(connection)
            meta["audit_base"] = str(await next_audit_base(connection, int(meta["audit_base"])))
            await _write_meta(connection, "audit_base", meta["audit_base"])
        await _write_meta(connection, "origin", origin)
        await _write_meta(connection, _SYNCHRONOUS, declared)
    return Epoch(meta["epoch"], int(meta["audit_base"]), origin)


def _is_another(known: str | None, found: str, is_synchronous: bool) -> bool:
    if known is None or known == found:
        return False
    return not is_synchronous or known.partition("/")[0] != found.partition("/")[0]


async def disown(connection: DatabaseConnection) -> None:
    """Removes all owners, and voids all claims of the original by higher fences."""
    await connection.execute(
        "UPDATE conversations SET owner = NULL, lease_until = 0, fence = fence + $1,"
        " version = version + $1",
        _JUMP,
        timeout=600,
    )
    await connection.execute("DELETE FROM connection_sessions")
    await connection.execute("DELETE FROM nodes")


async def next_audit_base(connection: DatabaseConnection, base: int) -> int:
    """Returns a base with which new numbers are greater than all that exist."""
    newest_number, next_id = await connection.fetchrow(
        "SELECT coalesce((SELECT max(number) FROM audit), 0), pg_current_xact_id()::text::bigint"
    )
    return int(max(base, newest_number + MOST_ROWS - next_id * MOST_ROWS))


async def _read_meta(connection: DatabaseConnection) -> dict[str, str]:
    return {row[0]: row[1] for row in await connection.fetch("SELECT name, value FROM meta")}


async def _write_meta(connection: DatabaseConnection, name: str, value: str) -> None:
    await connection.execute(
        "INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )
