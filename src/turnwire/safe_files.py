"""Reads and writes files below a directory. Never follows a link: the tools of agents can make links."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from uuid import uuid4

__all__ = ["Owner", "change_below", "has_file", "read_below", "write_below"]

Owner = tuple[int, int]  # the ids of a user and of a group

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def has_file(base: Path, path: Sequence[str]) -> bool:
    """Returns whether a plain file is there. Raises OSError if something else leads there."""
    try:
        folder = _folder(base, path[:-1])
    except FileNotFoundError:
        return False
    try:
        about = os.stat(path[-1], dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    finally:
        os.close(folder)
    if not S_ISREG(about.st_mode):
        raise OSError(f"{path[-1]} is no file")
    return True


def read_below(base: Path, path: Sequence[str], most: int | None = None) -> bytes:
    """Returns the content of a file below `base`. Raises OSError, also if it has too many bytes."""
    folder = _folder(base, path[:-1])
    try:
        file = os.open(path[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(file, "rb") as opened:
        about = os.fstat(file)
        if not S_ISREG(about.st_mode):
            raise OSError(f"{path[-1]} is no file")
        if most is not None and about.st_size > most:
            raise OSError(f"{path[-1]} has {about.st_size:,} bytes, and {most:,} are the most")
        return opened.read()


def write_below(
    base: Path, path: Sequence[str], data: bytes, owner: Owner | None, *, is_private: bool = True
) -> None:
    """Writes a file below `base`, whole or not at all. It belongs to `owner`, if one is given.

    Other users can read it, and enter its folders, unless it is private.
    """
    mode = 0o600 if is_private else 0o644

    def own(name: str, folder: int) -> None:
        if owner is not None:
            os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)

    def make(name: str, folder: int) -> None:
        os.mkdir(name, 0o700 if is_private else 0o755, dir_fd=folder)
        own(name, folder)

    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = _folder(base, path[:-1], make)
    half = f".{uuid4().hex}"
    try:
        file = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, dir_fd=folder)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(data)
            own(half, folder)
            os.rename(half, path[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(half, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def change_below(base: Path, path: Sequence[str], data: bytes) -> None:
    """Writes a file below `base` in place, so that it keeps its permissions. Makes its folders."""

    def make(name: str, folder: int) -> None:
        os.mkdir(name, dir_fd=folder)

    folder = _folder(base, path[:-1], make)
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(path[-1], flags, 0o666, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(file, "wb") as opened:
        if not S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"{path[-1]} is no file")
        opened.truncate()
        opened.write(data)


def _folder(
    base: Path, names: Sequence[str], make: Callable[[str, int], None] | None = None
) -> int:
    """Opens a folder below `base`. `make` makes a missing one in the folder that it is given."""
    folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in names:
        try:
            if make is not None:
                with suppress(FileExistsError):
                    make(name, folder)
            inner = os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder
