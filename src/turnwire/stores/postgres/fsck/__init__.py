"""fsck of a PostgreSQL database: see `turnwire.stores.fsck`."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.stores.address import Address
from turnwire.stores.fsck.run import Check, Report
from turnwire.stores.postgres.connection import close_quietly, connect, storage_errors
from turnwire.stores.postgres.fsck.database import PostgresDatabase

__all__ = ["check"]

_SETTINGS = {"jit": "off", "timezone": "UTC", "statement_timeout": "0", "lock_timeout": "10s"}
_READ_ONLY = {**_SETTINGS, "default_transaction_read_only": "on"}
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"


async def check(
    url: str,
    *,
    repair: bool = False,
    has_died: Callable[[str], bool] = lambda owner: False,
    progress: Callable[[int, int], None] = lambda done, total: None,
    now: int | None = None,
) -> Report:
    """Checks everything in the database. Other processes may use it meanwhile.

    A conversation with a live owner is checked, but never repaired.

    - `has_died`: returns whether the process of an owner has surely died; its lease then no longer
      counts.
    - `progress`: called with the number of checked entries, and of all.
    - `now`: milliseconds since 1970; the database's own time if it is None.

    Raises StorageUnavailable.
    """
    address = Address(url)
    connection = await connect(address, _SETTINGS if repair else _READ_ONLY, name="turnwire fsck")
    try:
        with storage_errors(address):
            when = await connection.fetchval(_NOW) if now is None else now
        database = PostgresDatabase(address, connection, when)
        run = Check(
            database,
            now=when,
            repair=repair,
            has_died=has_died,
            progress=progress,
        )
        return await run.run()
    finally:
        await close_quietly(connection)
