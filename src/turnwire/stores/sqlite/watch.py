"""Detects that the file was removed, replaced or truncated while the store uses it.

A removed file can still be written while it is open, and everything is lost when it is closed. The
same holds for a file that was replaced by another. So each write checks first.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Lock

import apsw

from turnwire.ports import StorageUnavailable
from turnwire.stores.sqlite.schema import check_version, read_meta

__all__ = ["WatchedFile", "set_aside_foreign_wal"]

_LEFT = ".left-behind"


class WatchedFile:
    """Shared knowledge of several threads about one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.epoch = ""
        self.generation = 0  # counts the files seen at the path; each replacement adds one
        self.opened = 0  # the generation that the writer has opened and checked
        self._place = Path(path)
        self._identity = _identity(self._place.stat())
        self._size = 0
        self._wal: tuple[int, int] | None = None
        self._lock = Lock()

    def is_open(self, epoch: str) -> None:
        """Notes that the writer has opened the file that is now at the path."""
        with self._lock:
            self.epoch = epoch
            self.opened = self.generation
            self._wal = _identity_of(f"{self.path}-wal")

    def look(self, connection: apsw.Connection | None = None) -> None:
        """Checks the file, and notes a replacement.

        Raises StorageUnavailable if the file was removed or truncated.
        """
        # Read before the check, because other threads see the file grow meanwhile.
        size = self._size
        try:
            now = self._place.stat()
        except OSError as failure:
            raise StorageUnavailable(
                f"The log's file {self.path} is missing: {failure.strerror}. Nothing is written "
                "until it is back. Put it back, or restore a backup.",
                cause="removed",
            ) from failure
        if _identity(now) != self._identity:
            self._replaced(now)
        elif now.st_size < size:
            self._shrunk(now.st_size, connection)
        else:
            self._size = now.st_size

    def look_inside(self, connection: apsw.Connection, seen: int) -> int:
        """Notes a new epoch written by another process. `seen` is this method's last result.

        Raises StorageUnavailable if a newer Turnwire has changed the tables meanwhile.
        """
        version: int = connection.pragma("data_version")
        if version != seen:
            check_version(connection)
            epoch = read_meta(connection, "epoch")
            if epoch != self.epoch:
                self.epoch = epoch
        return version

    def _replaced(self, now: os.stat_result) -> None:
        with self._lock:
            if _identity(now) == self._identity:  # another thread has noticed it already
                return
            wal = f"{self.path}-wal"
            if self._wal is not None and _identity_of(wal) == self._wal:
                _set_aside(self.path)  # this write-ahead log belongs to the previous file
            self._identity = _identity(now)
            self._size = now.st_size
            self.generation += 1

    def _shrunk(self, size: int, connection: apsw.Connection | None) -> None:
        """Raises StorageUnavailable, unless SQLite itself shrank the file by a vacuum."""
        try:
            fits = connection is not None and _pages(connection) <= size
        except apsw.Error:
            fits = False
        if not fits:
            raise StorageUnavailable(
                f"The log's file {self.path} was cut short, from {self._size} bytes to {size}. "
                "Nothing is written to it. Stop every process that uses it, and restore a backup.",
                cause="truncated",
            )
        self._size = size


def set_aside_foreign_wal(path: str) -> None:
    """Renames a write-ahead log that belongs to a previous file at the same path.

    A copy that was just put in place has no write-ahead log yet. SQLite would write the pages of a
    foreign one into the copy. The order matters: a process that creates a write-ahead log for this
    file marks the file first.
    """
    if not Path(f"{path}-wal").exists():
        return
    header = _header(path)
    if header.startswith(b"SQLite format 3\0") and header[18:20] == b"\1\1":
        _set_aside(path)


def _header(path: str) -> bytes:
    """Returns the first bytes of the file, read through SQLite.

    SQLite closes a file only when this process has no more locks on it. Closing it in any other way
    releases all locks, and another process could remove the write-ahead log.
    """
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    try:
        file = apsw.VFSFile("", path, flags)
    except apsw.Error:
        return b""
    try:
        return file.xRead(20, 0)
    except apsw.Error:
        return b""  # the file is shorter than its header
    finally:
        file.xClose()


def _set_aside(path: str) -> None:
    for suffix in ("-wal", "-shm"):
        with suppress(OSError):
            Path(f"{path}{suffix}").replace(f"{path}{suffix}{_LEFT}")


def _pages(connection: apsw.Connection) -> int:
    return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _identity_of(path: str) -> tuple[int, int] | None:
    try:
        return _identity(Path(path).stat())
    except OSError:
        return None
