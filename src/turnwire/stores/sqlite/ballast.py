"""A file that only takes up room, to be let go when the disk is full.

A full disk lets nothing be written, not even the end of a turn. With the ballast gone there is room
for what has happened already and cannot be refused; what people ask for is refused until there is
room for both again.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["BALLAST", "Ballast", "free_bytes"]

BALLAST = 8 << 20  # bytes
_MARGIN = 1 << 20  # bytes that must be free besides; with fewer the disk counts as full
_LOOK_AGAIN = 1.0  # seconds


def free_bytes(folder: Path) -> int:
    """How much room the disk has."""
    return shutil.disk_usage(folder).free


class Ballast:
    """Belongs to one writer. Several processes with the same file share it."""

    def __init__(self, database: str, size: int) -> None:
        self.path = Path(f"{database}-ballast")
        self._size = size
        self._looked = -_LOOK_AGAIN  # when; seconds of a clock that does not jump
        self.is_released = False  # the disk was full, and may be still

    @property
    def has_room(self) -> bool:
        """Whether the disk has room for what people may send."""
        return self._free() >= _MARGIN

    def release(self) -> bool:
        """Let it go, if the disk is full. Whether there is more room now."""
        if not self._size or self._free() >= self._size:
            return False  # something else is full: a file that may not grow
        self.is_released = True
        try:
            self.path.unlink()
        except OSError:
            return False
        return True

    def keep(self) -> None:
        """Make it again if it is not there and there is room. Cheap: it looks now and then."""
        now = time.monotonic()
        if not self._size or now - self._looked < _LOOK_AGAIN:
            return
        self._looked = now
        if self._is_there():
            self.is_released = False
        elif self._free() >= self._size + _MARGIN:
            self.is_released = not self._make()

    def remove(self) -> None:
        """Nobody writes any more."""
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
        """With real blocks, not a hole. Others may do it at the same time: it is the same file."""
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
    block = bytes(1 << 20)  # macOS has no such call
    for at in range(0, size, len(block)):
        os.pwrite(file, block[: size - at], at)
