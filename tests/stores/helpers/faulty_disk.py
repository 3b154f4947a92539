"""A disk with a size and with errors that a test chooses."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

__all__ = ["FaultyDisk", "faulty_disk"]

_number = itertools.count(1)


class FaultyDisk(apsw.VFS):
    """The real disk with chosen errors. The files of `folder` count against the quota."""

    def __init__(self, folder: Path) -> None:
        self.name = f"faulty-{next(_number)}"
        self.folder = folder
        self.quota: int | None = None  # bytes of all files in the folder
        self.calls: Counter[str] = Counter()
        self.fails: dict[str, set[int]] = {}  # by operation: which calls of it fail, counted from 1
        self.failed = 0
        super().__init__(self.name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self, name, flags)

    def used(self) -> int:
        """Bytes in the folder."""
        return sum(file.stat().st_size for file in self.folder.iterdir() if file.is_file())

    def free(self) -> int:
        """Bytes that still fit."""
        return 1 << 40 if self.quota is None else max(0, self.quota - self.used())

    def count(self, operation: str) -> None:
        """Counts an operation, and fails it if a test has chosen it."""
        self.calls[operation] += 1
        if self.calls[operation] in self.fails.get(operation, ()):
            self.failed += 1
            raise apsw.IOError(f"the disk failed to {operation}, as it was told to")


class _File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.count("read")
        return super().xRead(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.count("write")
        growth = offset + len(data) - self.xFileSize()
        if growth > 0 and growth > self._disk.free():
            self._disk.failed += 1
            raise apsw.FullError("the disk is full")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.count("sync")
        super().xSync(flags)


@contextmanager
def faulty_disk(folder: Path) -> Iterator[FaultyDisk]:
    """A disk that is gone when the block is left."""
    disk = FaultyDisk(folder)
    try:
        yield disk
    finally:
        disk.unregister()
