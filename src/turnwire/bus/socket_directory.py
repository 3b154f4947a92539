"""A directory of sockets: private, and usable although its path is long."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path
from shutil import rmtree

from turnwire.bus.address import BadBusAddress

__all__ = ["ShortDirectory", "make_private"]

_LONGEST = 100  # the path of a socket: 108 bytes on Linux, 104 on macOS, with a zero at the end
_DESCRIPTORS = Path("/proc/self/fd")


def make_private(directory: Path) -> None:
    """Creates a directory with mode 0700. Raises BadBusAddress if another user may write to it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise BadBusAddress(
            f"The directory {directory} of the bus must belong to the user of the server, with mode"
            " 0700: other users must not reach the sockets."
        )


class ShortDirectory:
    """Another path to a directory if its own is too long for the name of a socket.

    On Linux it is a path through an open descriptor; elsewhere a link in a private directory.
    """

    def __init__(self, directory: Path, longest_name: int) -> None:
        self._descriptor: int | None = None
        self._link: Path | None = None
        if len(os.fsencode(directory)) + 1 + longest_name <= _LONGEST:
            self._place = directory
        elif _DESCRIPTORS.is_dir():
            self._descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._place = _DESCRIPTORS / str(self._descriptor)
        else:
            self._link = Path(tempfile.mkdtemp(prefix="tw-", dir="/tmp"))
            self._place = self._link / "d"
            self._place.symlink_to(directory)

    def path(self, name: str) -> str:
        """Returns the path of a socket, for `bind` and `connect`."""
        return str(self._place / name)

    def close(self) -> None:
        """Removes the other path."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        if self._link is not None:
            rmtree(self._link, ignore_errors=True)
