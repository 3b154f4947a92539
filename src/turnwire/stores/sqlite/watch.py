"""Is the file at its path still the one that was opened, and whole?

A file that was removed can be written to for as long as it is open, and everything is lost when it
is closed. One that another was put in the place of is the same. So each write looks first.
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
    """What several threads know of one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.epoch = ""
        self.generation = 0  # of the file that is at the path: another one counts one more
        self.opened = 0  # the generation that the writer has opened and found right
        self._place = Path(path)
        self._identity = _identity(self._place.stat())
        self._size = 0
        self._wal: tuple[int, int] | None = None
        self._lock = Lock()

    def is_open(self, epoch: str) -> None:
        """The writer has opened the file that is there now."""
        with self._lock:
            self.epoch = epoch
            self.opened = self.generation
            self._wal = _identity_of(f"{self.path}-wal")

    def look(self, connection: apsw.Connection | None = None) -> None:
        """Raise StorageUnavailable if it is gone or cut short; note it if it is another one."""
        size = self._size  # known before it is looked at: meanwhile other threads see it grow
        try:
            now = self._place.stat()
        except OSError as failure:
            raise StorageUnavailable(
                f"The log's file {self.path} is gone: {failure.strerror}. Nothing is written until "
                "it is there again. Put it back, or restore a backup.",
                cause="removed",
            ) from failure
        if _identity(now) != self._identity:
            self._replaced(now)
        elif now.st_size < size:
            self._shrunk(now.st_size, connection)
        else:
            self._size = now.st_size

    def look_inside(self, connection: apsw.Connection, seen: int) -> int:
        """Note another epoch that another process has given it. `seen`: what this returned last.

        Raises StorageUnavailable if a newer Turnwire has changed its tables meanwhile.
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
            if _identity(now) == self._identity:  # another thread has seen it, too
                return
            wal = f"{self.path}-wal"
            if self._wal is not None and _identity_of(wal) == self._wal:
                _set_aside(self.path)  # it belongs to the file that was here before
            self._identity = _identity(now)
            self._size = now.st_size
            self.generation += 1

    def _shrunk(self, size: int, connection: apsw.Connection | None) -> None:
        """SQLite makes a file smaller only when it is vacuumed, and then knows of it."""
        try:
            fits = connection is not None and _pages(connection) <= size
        except apsw.Error:
            fits = False
        if not fits:
            raise StorageUnavailable(
                f"The log's file {self.path} was cut short, from {self._size} bytes to {size}. "
                "Nothing is written to it. Stop what uses it, and restore a backup.",
                cause="truncated",
            )
        self._size = size


def set_aside_foreign_wal(path: str) -> None:
    """A copy that has just been put in its place has no write-ahead log yet.

    If there is one beside it, it belongs to the file that was there before, and SQLite would write
    it into this one. The order matters: whoever makes one for this file marks the file first.
    """
    if not Path(f"{path}-wal").exists():
        return
    header = _header(path)
    if header.startswith(b"SQLite format 3\0") and header[18:20] == b"\1\1":
        _set_aside(path)


def _header(path: str) -> bytes:
    """The first bytes of the file, read by SQLite's own hand.

    It closes a file only when this process has no lock on it any more; to close it any other way
    gives up all of them, and another process could take the log away.
    """
    flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
    try:
        file = apsw.VFSFile("", path, flags)
    except apsw.Error:
        return b""
    try:
        return file.xRead(20, 0)
    except apsw.Error:
        return b""  # shorter than that
    finally:
        file.xClose()


def _set_aside(path: str) -> None:
    for beside in ("-wal", "-shm"):
        with suppress(OSError):
            Path(f"{path}{beside}").replace(f"{path}{beside}{_LEFT}")


def _pages(connection: apsw.Connection) -> int:
    return int(connection.pragma("page_count")) * int(connection.pragma("page_size"))


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _identity_of(path: str) -> tuple[int, int] | None:
    try:
        return _identity(Path(path).stat())
    except OSError:
        return None
