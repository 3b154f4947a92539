"""The ballast: a file that only reserves disk space, released when the disk is full.

On a full disk nothing can be written, not even the end of a turn. Releasing the ballast makes room
for what has happened already and cannot be refused. New input of clients is refused until the disk
has room for both again.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["BALLAST", "Ballast", "free_bytes"]

BALLAST = 8 << 20  # bytes
_MARGIN = 1 << 20  # bytes that must be free in addition; with fewer the disk counts as full
_LOOK_AGAIN = 1.0  # seconds


def free_bytes(folder: Path) -> int:
    """Returns the free bytes of the disk."""
    return shutil.disk_usage(folder).free


class Ballast:
    """The ballast of one writer. Several processes with the same file share it."""

    def __init__(self, database: str, size: int) -> None:
        self.path = Path(f"{database}-ballast")
        self._size = size
        self._looked = -_LOOK_AGAIN  # time of the last check, by the monotonic clock
        self.is_released = False  # the disk was full, and may still be

    @property
    def has_room(self) -> bool:
        """Returns whether the disk has room for new input of clients."""
        return self._free() >= _MARGIN

    def release(self) -> bool:
        """Deletes the ballast if the disk is full. Returns whether that freed space."""
        if not self._size or self._free() >= self._size:
            return False  # not the disk is full, but a file with a size limit
        self.is_released = True
        try:
            self.path.unlink()
        except OSError:
            return False
        return True

    def keep(self) -> None:
        """Creates the ballast again if it is missing and the disk has room.

        Cheap to call: it checks about once a second.
        """
        now = time.monotonic()
        if not self._size or now - self._looked < _LOOK_AGAIN:
            return
        self._looked = now
        if self._is_there():
            self.is_released = False
        elif self._free() >= self._size + _MARGIN:
            self.is_released = not self._make()

    def remove(self) -> None:
        """Deletes the ballast at shutdown."""
        with suppress(OSError):
            self.path.unlink()

    def _is_there(self) -> bool:
        try:
            return self.path.stat().st_size >= self._size
        except OSError:
            return False

    def _free(self) -> int:
        try:
            return free_bytes(self.path.parent)
        except OSError:
            return 0

    def _make(self) -> bool:
        """Allocates real blocks, not a sparse file.

        Several processes may do so at the same time.
        """
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        try:
            _allocate(file, self._size)
        except OSError:
            self.remove()
            return False
        finally:
            os.close(file)
        return True


def _allocate(file: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
        return
    block = bytes(1 << 20)  # macOS has no posix_fallocate
    for at in range(0, size, len(block)):
        os.pwrite(file, block[: size - at], at)
