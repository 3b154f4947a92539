"""Connections to the database, and the mapping of its errors to errors of the port.

Everything that is used of asyncpg is used here, in the reader, in the lanes, for the epoch and in the
migrations.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import asyncpg

from turnwire.errors import TurnwireError
from turnwire.ports import Conflict
from turnwire.stores.address import Address
from turnwire.stores.postgres.unavailable import DatabaseUnavailable, unavailable

__all__ = [
    "ANSWER_SECONDS",
    "COMMAND_SECONDS",
    "CONNECT_SECONDS",
    "LOST",
    "READER",
    "TRANSIENT",
    "WRITER",
    "DatabaseConnection",
    "close_quietly",
    "connect",
    "is_lost",
    "storage_errors",
]

DatabaseConnection = Any  # asyncpg has no types

OLDEST_SERVER = 15  # for UNIQUE NULLS NOT DISTINCT
CONNECT_SECONDS = 5.0
# A connection that has not answered after this time is considered lost: its bytes may vanish without
# an error. Commits and leases are short; other statements may take long.
ANSWER_SECONDS = 5.0
COMMAND_SECONDS = 30.0

# A connection that ended with one of these may have done what it was asked for.
LOST: tuple[type[BaseException], ...] = (
    OSError,
    TimeoutError,
    asyncio.TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.exceptions.AdminShutdownError,
    asyncpg.exceptions.CrashShutdownError,
    asyncpg.exceptions.IdleInTransactionSessionTimeoutError,
    asyncpg.InternalClientError,
)
# Nothing was written, and the same may succeed at once.
TRANSIENT: tuple[type[BaseException], ...] = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)

# The server ends the backend of a client that is gone, and with it its locks.
_KEEPALIVE = {
    "tcp_keepalives_idle": "10",
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "25s",
}
_COMMON = {"jit": "off", "timezone": "UTC", "client_encoding": "UTF8", **_KEEPALIVE}
READER = {**_COMMON, "statement_timeout": "60s"}
# A batch has unknown size, so the planner must neither expect one row nor read a whole table:
# conversations are found by their keys, and everything else is joined by a hash.
WRITER = {
    **_COMMON,
    "plan_cache_mode": "force_generic_plan",
    "enable_nestloop": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
    "lock_timeout": "10s",
    "statement_timeout": "60s",
    "idle_in_transaction_session_timeout": "10s",  # a suspended server holds no locks for long
}


async def connect(
    address: Address, settings: dict[str, str], *, name: str = "turnwire"
) -> DatabaseConnection:
    """Opens a connection. Raises StorageUnavailable; the message has no password."""
    with storage_errors(address):
        connection = await asyncpg.connect(
            address.url,
            timeout=CONNECT_SECONDS,
            command_timeout=COMMAND_SECONDS,
            server_settings={**settings, "application_name": name},
        )
        version = connection.get_server_version().major
        if version < OLDEST_SERVER:
            await connection.close()
            raise DatabaseUnavailable(
                f"PostgreSQL {version} is too old. Turnwire needs version {OLDEST_SERVER} or newer."
            )
        return connection


async def close_quietly(connection: DatabaseConnection | None) -> None:
    """Closes a connection, and ignores errors."""
    if connection is None:
        return
    with suppress(Exception):
        if not connection.is_closed():
            await connection.close(timeout=1.0)
            return
    with suppress(Exception):
        connection.terminate()


def is_lost(failure: BaseException) -> bool:
    """Returns whether the connection ended, so that it is unknown what the server has done."""
    if isinstance(failure, (TurnwireError, ValueError)):  # a value that asyncpg cannot send
        return False
    severity = getattr(failure, "severity_en", None) or getattr(failure, "severity", None)
    return isinstance(failure, LOST) or severity in ("FATAL", "PANIC")


@contextmanager
def storage_errors(address: Address) -> Iterator[None]:
    """Translates errors of the driver and the server into errors of the port."""
    try:
        yield
    except TurnwireError:
        raise
    except asyncpg.exceptions.ClientConfigurationError as wrong:
        raise unavailable(address, wrong) from wrong
    except (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError, ValueError) as refused:
        said = address.without_secrets(str(refused))
        raise Conflict(f"It contradicts what is stored: {said}") from refused
    except (asyncpg.PostgresError, *LOST) as failure:
        raise unavailable(address, failure) from failure
