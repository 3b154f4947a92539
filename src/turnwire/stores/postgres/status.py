"""The state of a database, for people: its version, its tables, its limits, its load."""

from __future__ import annotations

import time
from typing import Any

import asyncpg
from msgspec import Struct

from turnwire.ports import StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres.connection import (
    READER,
    DatabaseConnection,
    close_quietly,
    connect,
    storage_errors,
)
from turnwire.stores.postgres.schema import Schema, check_schema, newest, read_schema

__all__ = ["DatabaseStatus", "SlowQuery", "read_status", "why_unfit"]

# A plain role may ask all of this. Of the sessions of other roles it sees little more than their number.
_FACTS = """
SELECT current_setting('server_version') AS server,
    current_setting('server_version_num')::int / 10000 AS server_major,
    current_user::text AS role,
    pg_database_size(current_database()) AS size,
    (SELECT sum(numbackends)::int FROM pg_stat_database) AS connections,
    (SELECT count(*)::int FROM pg_stat_activity
        WHERE usename = current_user AND application_name LIKE 'turnwire%'
            AND pid <> pg_backend_pid()) AS own_connections,
    current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true), '0')::int AS max_connections,
    (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS role_limit,
    (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS database_limit,
    current_setting('statement_timeout') AS statement_timeout,
    current_setting('idle_session_timeout') AS idle_session_timeout,
    pg_is_in_recovery() AS is_standby,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('synchronous_standby_names') AS synchronous_standbys,
    (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
    current_setting('fsync') = 'on' AS waits_for_disk,
    (SELECT count(*)::int FROM pg_stat_activity
        WHERE usename = current_user AND wait_event_type = 'Lock') AS waiting
"""
# Only the statements of Turnwire are shown: those of other programs may have secrets.
_RUNNING = """
SELECT application_name, left(regexp_replace(query, '\\s+', ' ', 'g'), 60),
    extract(epoch FROM clock_timestamp() - query_start)::float8 * 1000, 1
FROM pg_stat_activity
WHERE usename = current_user AND state = 'active' AND application_name LIKE 'turnwire%'
    AND pid <> pg_backend_pid() AND clock_timestamp() - query_start > interval '1 second'
ORDER BY query_start LIMIT 3
"""
_RECORDED = """
SELECT 'on average', left(regexp_replace(s.query, '\\s+', ' ', 'g'), 60), s.mean_exec_time, s.calls
FROM pg_stat_statements AS s
WHERE s.userid = (SELECT oid FROM pg_roles WHERE rolname = current_user)
    AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND s.mean_exec_time > 1000 AND s.query NOT ILIKE '%password%'
ORDER BY s.mean_exec_time DESC LIMIT 3
"""


class SlowQuery(Struct, frozen=True):
    """A statement that takes more than a second."""

    where: str  # the connection that runs it, or `on average`
    words: str  # its beginning
    ms: float
    calls: int


class DatabaseStatus(Struct, frozen=True):
    """What `turnwire db status` and `turnwire doctor` show."""

    address: str  # without a password
    found: Schema | None  # None: no tables of Turnwire
    known: Schema  # what this program knows
    answer_ms: float
    clock_ms: float  # how much the clock of the database is ahead of this machine's
    slow: list[SlowQuery]
    has_statistics: bool  # pg_stat_statements can be read
    server: str  # its version
    server_major: int
    role: str
    size: int
    connections: int  # in use, of all roles and databases
    own_connections: int  # of these, those of Turnwire
    max_connections: int  # for roles that are not superusers
    role_limit: int  # -1: none
    database_limit: int  # -1: none
    statement_timeout: str
    idle_session_timeout: str
    is_standby: bool
    synchronous_commit: str
    synchronous_standbys: str
    standbys: int
    waits_for_disk: bool
    waiting: int  # statements of this role that wait for a lock

    @property
    def schema(self) -> str:
        """Returns the version of the tables."""
        return "none" if self.found is None else f"{self.found.pre}.{self.found.post}"


async def read_status(address: Address) -> DatabaseStatus:
    """Asks the database for its state. Raises StorageUnavailable."""
    connection = await connect(address, READER, name="turnwire status")
    try:
        with storage_errors(address):
            begun = time.time()
            now = await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())::float8")
            seconds = time.time() - begun
            found = await read_schema(connection)
            facts: dict[str, Any] = dict(await connection.fetchrow(_FACTS))
            running = await connection.fetch(_RUNNING)
            recorded = await _recorded(connection)
    finally:
        await close_quietly(connection)
    return DatabaseStatus(
        address.shown,
        found,
        newest(),
        seconds * 1000,
        (now - begun - seconds / 2) * 1000,
        [SlowQuery(*row) for row in [*running, *(recorded or [])]],
        recorded is not None,
        **facts,
    )


async def _recorded(connection: DatabaseConnection) -> list[Any] | None:
    """Returns slow statements of pg_stat_statements; None if that is not installed."""
    try:
        return list(await connection.fetch(_RECORDED))
    except (
        asyncpg.UndefinedTableError,
        asyncpg.InsufficientPrivilegeError,
        asyncpg.ObjectNotInPrerequisiteStateError,
    ):
        return None


def why_unfit(status: DatabaseStatus) -> str | None:
    """Returns why this program cannot use the tables, and the command to run; None if it can."""
    try:
        check_schema(status.found, status.known)
    except StorageUnavailable as unfit:
        return unfit.message
    return None
