"""Reads and writes files of Claude Code. Never follows a link: a session's tools can make links."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from stat import S_ISREG
from uuid import uuid4

from turnwire.ports import AgentUser

__all__ = ["read_below", "write_below"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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
            raise OSError(f"{path[-1]} has {about.st_size:,} bytes, and {most:,} are kept at most")
        return opened.read()


def write_below(base: Path, path: Sequence[str], data: bytes, user: AgentUser | None) -> None:
    """Writes a file below `base`, whole or not at all. It belongs to `user`, if one is given."""

    def own(name: str, folder: int) -> None:
        if user is not None:
            os.chown(name, user.uid, user.gid, dir_fd=folder, follow_symlinks=False)

    base.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = _folder(base, path[:-1], own)
    half = f".{uuid4().hex}"
    try:
        file = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
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


def _folder(base: Path, names: Sequence[str], own: Callable[[str, int], None] | None = None) -> int:
    """Opens a folder below `base`. With `own` missing folders are made, and given to their user."""
    folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in names:
        try:
            if own is not None:
                try:
                    os.mkdir(name, 0o700, dir_fd=folder)
                    own(name, folder)
                except FileExistsError:
                    pass
            inner = os.open(name, _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
        folder = inner
    return folder
