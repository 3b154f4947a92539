"""Why a database cannot be used, and what to do next."""

from __future__ import annotations

import asyncio
import re

from asyncpg import exceptions as e

from turnwire.ports import StorageUnavailable
from turnwire.stores.address import Address

__all__ = ["DatabaseUnavailable", "unavailable"]


class DatabaseUnavailable(StorageUnavailable):
    """The database cannot be used. The message says what to do.

    With `is_final` a retry fails in the same way, until a person has changed something.
    """

    what_to_do = ""
    is_for_operators = True

    def __init__(self, message: str, *, is_final: bool = True, cause: str = "") -> None:
        super().__init__(message, **({"cause": cause} if cause else {}))
        self.is_final = is_final


# Errors that a retry does not change, and the next step. The first that fits is used.
_FINAL: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    (
        (e.InvalidPasswordError, e.InvalidAuthorizationSpecificationError),
        "Check the role, and its password in PGPASSWORD, ~/.pgpass or TURNWIRE_STORE.",
    ),
    (
        (e.InvalidCatalogNameError,),
        "Create it with `createdb NAME --owner ROLE`, or name another one.",
    ),
    (
        (e.InsufficientPrivilegeError,),
        "Use the role that owns the database: ALTER DATABASE name OWNER TO role.",
    ),
    ((e.ClientConfigurationError,), "Correct the address, or the PG* variables."),
)
_PASSING: tuple[tuple[tuple[type[BaseException], ...], str], ...] = (
    (
        (e.TooManyConnectionsError,),
        "Raise max_connections, or close connections of other programs.",
    ),
    (
        (e.ReadOnlySQLTransactionError,),
        "It only reads, as a standby does: name the primary server.",
    ),
    ((e.DiskFullError,), "Free some space on the disk of the database."),
    ((e.CannotConnectNowError,), "It starts or stops. Try again in a moment."),
    (
        (OSError, TimeoutError, asyncio.TimeoutError),
        "Start the server, or correct the host and the port of the address.",
    ),
)
_OTHERWISE = "Look into the log of the database, then try again."


def unavailable(address: Address, failure: BaseException) -> DatabaseUnavailable:
    """Returns an error of the driver or the server in one line, without a password."""
    is_final, advice = _advice(failure)
    said = str(failure) or "no answer in time"
    if isinstance(failure, e.TooManyConnectionsError):
        advice = _raised_limit(said)
    cause = address.without_secrets(" ".join(said.split())).rstrip(".")
    return DatabaseUnavailable(
        f"The database {address} cannot be used: {cause}. {advice}",
        is_final=is_final,
        cause=type(failure).__name__,
    )


def _raised_limit(said: str) -> str:
    """Returns how to raise the limit of connections that the server has named."""
    found = re.search(r'for (role|database) "(.*)"', said)
    if found is None:  # of the whole server, or in another language
        return _advice(e.TooManyConnectionsError())[1]
    kind, name = found.groups()
    return f'Raise its limit: ALTER {kind.upper()} "{name}" CONNECTION LIMIT -1.'


def _advice(failure: BaseException) -> tuple[bool, str]:
    for is_final, table in ((True, _FINAL), (False, _PASSING)):
        for kinds, advice in table:
            if isinstance(failure, kinds):
                return is_final, advice
    return False, _OTHERWISE
