"""Connections to the SQLite file, and the mapping of SQLite's errors to errors of the port."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import apsw

from turnwire.ports import Conflict, StorageUnavailable
from turnwire.stores.sqlite.watch import set_aside_foreign_wal

__all__ = ["STORAGE_ERRORS", "close_quietly", "connect", "storage_errors"]

# Errors caused by the disk or by another process. Nothing was written, and a retry may succeed.
STORAGE_ERRORS = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.IOError,
    apsw.LockedError,
    apsw.NoMemError,
    apsw.NotADBError,
    apsw.PermissionsError,
    apsw.ProtocolError,
    apsw.ReadOnlyError,
)


@contextmanager
def storage_errors() -> Iterator[None]:
    """Translates SQLite's errors into errors of the port."""
    try:
        yield
    except STORAGE_ERRORS as failure:
        raise StorageUnavailable(
            f"The log cannot be used: {failure}", cause=type(failure).__name__
        ) from failure
    except apsw.ConstraintError as refused:
        raise Conflict(f"It contradicts what is stored: {refused}") from refused


def connect(
    path: str, *, busy_ms: int, writes: bool = False, vfs: str | None = None
) -> apsw.Connection:
    """Opens the file, or creates it so that only its owner may read it."""
    # Only a missing file is created here. Closing an existing file would release all locks of this
    # process on it. Another process would then believe that it is the last one, and remove the
    # write-ahead log.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        pass
    except OSError as failure:
        cause = failure.strerror or str(failure)
        raise StorageUnavailable(f"The log cannot be opened: {cause}", path=path) from failure
    # Before any reader, because this check opens the file, which would also release the locks.
    if writes:
        set_aside_foreign_wal(path)
    with storage_errors():
        connection = apsw.Connection(path, vfs=vfs)
        try:
            _prepare(connection, busy_ms, writes)
        except BaseException:
            close_quietly(connection)
            raise
    return connection


def close_quietly(connection: apsw.Connection) -> None:
    """Closes the connection and ignores errors.

    Committed data is checkpointed now, or by the next process that opens the file.
    """
    with suppress(*STORAGE_ERRORS):
        connection.close()


def _prepare(connection: apsw.Connection, busy_ms: int, writes: bool) -> None:
    connection.set_busy_timeout(busy_ms)
    mode = _log_ahead(connection, busy_ms)
    if mode != "wal":
        raise StorageUnavailable(f"The log's disk allows no write-ahead log, only `{mode}`.")
    connection.pragma("synchronous", "full")  # a commit that has returned survives a power failure
    connection.pragma("foreign_keys", True)
    connection.pragma("temp_store", "memory")
    if writes:
        # Always on, not only for deletes: otherwise a rewritten state leaves its old text in the
        # file.
        connection.pragma("secure_delete", True)
    else:
        connection.pragma("query_only", True)


def _log_ahead(connection: apsw.Connection, busy_ms: int) -> str:
    """Switches the file to a write-ahead log, with retries, and returns the resulting journal mode.

    Processes that open a new file at the same time all try to switch it. SQLite does not wait when
    they block each other.
    """
    deadline = time.monotonic() + busy_ms / 1000
    while True:
        try:
            mode: str = connection.pragma("journal_mode", "wal")
            return mode
        except apsw.BusyError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
