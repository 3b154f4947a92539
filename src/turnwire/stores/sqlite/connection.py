"""Connections to the file, all opened alike, and what SQLite's errors mean."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import apsw

from turnwire.ports import Conflict, StorageUnavailable
from turnwire.stores.sqlite.watch import set_aside_foreign_wal

__all__ = ["STORAGE_ERRORS", "close_quietly", "connect", "storage_errors"]

# The disk's fault, or another process's: nothing was written, and later it may work.
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
    """Say SQLite's errors in the words of the port."""
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
    """Open the file, or make it. Only its owner may read it: it holds what people said."""
    # Only a file that is not there yet: to close one that is gives up every lock that this process
    # has on it. Another process would then take itself for the last one, and take the log away.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        os.close(os.open(path, flags, 0o600))
    except FileExistsError:
        pass
    except OSError as failure:
        cause = failure.strerror or str(failure)
        raise StorageUnavailable(f"The log cannot be opened: {cause}", path=path) from failure
    if writes:  # before any reader: it looks into the file, which gives up the locks as well
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
    """Close it. What was committed is written over to the file now, or by whoever opens it next."""
    with suppress(*STORAGE_ERRORS):
        connection.close()


def _prepare(connection: apsw.Connection, busy_ms: int, writes: bool) -> None:
    connection.set_busy_timeout(busy_ms)
    mode = _log_ahead(connection, busy_ms)
    if mode != "wal":
        raise StorageUnavailable(f"The log's disk allows no write-ahead log, only `{mode}`.")
    connection.pragma("synchronous", "full")  # a commit that has returned survives a power cut
    connection.pragma("foreign_keys", True)
    connection.pragma("temp_store", "memory")
    if writes:
        # Always, not only for deletes: a state that is written anew leaves its old text otherwise.
        connection.pragma("secure_delete", True)
    else:
        connection.pragma("query_only", True)


def _log_ahead(connection: apsw.Connection, busy_ms: int) -> str:
    """The first ones who open a new file all want to change it to this. Where they stand in each
    other's way SQLite lets none of them wait, so they try again.
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
