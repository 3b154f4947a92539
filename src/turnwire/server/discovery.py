"""Finds running servers: each has a small file with its address in the data directory.

A server holds a lock on its file while it runs. A pid does not prove that the server runs: in
another container the same pid is another process, and pids are reused.

The directory also keeps the port of the last server, so that open pages find the next server.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from operator import itemgetter
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

__all__ = [
    "ServerPlace",
    "find_last_port",
    "find_server",
    "remember_port",
    "told_server",
]

_FILES = "server.*.json"  # one file for each running server; the star is random
_LAST_PORT = "last-port"
_PATIENCE = 5.0  # seconds that a server of this machine may take to accept a connection


class ServerPlace(Struct, frozen=True):
    """A server that runs on this data directory."""

    url: str
    pid: int
    public_url: str = ""  # the address that people open, if there is a proxy
    # False if an older version wrote the file, or file locks do not exist. Then the pid decides.
    is_locked: bool = False


@contextmanager
def told_server(data_path: Path, url: str, public_url: str = "") -> Iterator[None]:
    """Keeps a file with the address of this server while it runs.

    Removes files of killed servers.
    """
    for path, known in _known(data_path):
        if not _runs(path, known):
            path.unlink(missing_ok=True)
    with NamedTemporaryFile(
        dir=data_path, prefix=".server.", suffix=".json", delete=False
    ) as unfinished:
        place = ServerPlace(url, os.getpid(), public_url, _lock(unfinished, fcntl.LOCK_EX))
        unfinished.write(msgspec.json.encode(place))
        unfinished.flush()
        hidden = Path(unfinished.name)
        own = hidden.replace(hidden.with_name(hidden.name.removeprefix(".")))
        try:
            yield
        finally:
            with suppress(OSError):  # the file or the directory was removed
                own.unlink()


def find_server(data_path: Path) -> ServerPlace | None:
    """Returns the running server of this data directory, the newest of several, or None.

    The file of a killed server is ignored, even if another process has its pid by now.
    """
    found = (each for path, each in _known(data_path) if _runs(path, each) and _listens(each.url))
    return next(found, None)


def remember_port(data_path: Path, port: int) -> None:
    """Writes the port to a file, for the next server of this data directory."""
    with suppress(OSError):  # the server runs without it
        _write(data_path / _LAST_PORT, b"%d\n" % port)


def find_last_port(data_path: Path) -> int | None:
    """Returns the port of the last server of this data directory, or None if it is not known."""
    try:
        port = int((data_path / _LAST_PORT).read_bytes()[:20])
    except (OSError, ValueError):
        return None
    return port if 0 < port < 65536 else None


def _write(file: Path, content: bytes) -> None:
    unfinished = file.with_name(f".{file.name}")
    unfinished.touch(mode=0o600)
    unfinished.write_bytes(content)
    unfinished.replace(file)


def _known(data_path: Path) -> list[tuple[Path, ServerPlace]]:
    """Returns the files of servers with their content, the newest first."""
    known = []
    for path in data_path.glob(_FILES):
        with suppress(OSError, msgspec.DecodeError):
            place = msgspec.json.decode(path.read_bytes(), type=ServerPlace)
            known.append((path.stat().st_mtime_ns, path, place))
    return [(path, place) for _, path, place in sorted(known, reverse=True, key=itemgetter(0))]


def _runs(path: Path, place: ServerPlace) -> bool:
    """Returns whether the server that wrote a file still runs."""
    if not place.is_locked:
        return _lives(place.pid)
    try:
        with path.open("rb") as file:
            return not _lock(file, fcntl.LOCK_SH)
    except OSError:  # it was removed meanwhile
        return False


def _lock(file: IO[bytes], kind: int) -> bool:
    """Locks a file until it is closed. Returns False if it is locked, or cannot be locked."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def _listens(url: str) -> bool:
    place = urlsplit(url)
    try:
        socket.create_connection((place.hostname or "", place.port or 80), _PATIENCE).close()
    except (OSError, ValueError):
        return False
    return True
