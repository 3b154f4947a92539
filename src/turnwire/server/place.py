"""Where running servers can be found: each has a small file in the data directory.

The directory remembers the port of the last one as well, so that pages which are open find the next.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

__all__ = [
    "ServerPlace",
    "find_last_port",
    "find_server",
    "forget_server",
    "remember_port",
    "tell_server",
]

_FILES = "server.*.json"  # one for each that runs: the star is its process
_LAST_PORT = "last-port"
_PATIENCE = 5.0  # seconds that a server of this machine may take to take a connection


class ServerPlace(Struct, frozen=True):
    """A server that runs on this data directory."""

    url: str
    pid: int
    public_url: str = ""  # where people open it, if a proxy stands before it


def tell_server(data_path: Path, url: str, public_url: str = "") -> None:
    """Write down where we are, and tidy up behind those that were killed."""
    for path, known in _known(data_path):
        if not _lives(known.pid):
            path.unlink(missing_ok=True)
    place = ServerPlace(url, os.getpid(), public_url)
    _write(_own(data_path), msgspec.json.encode(place))


def forget_server(data_path: Path) -> None:
    """We are gone; others that are there stay known."""
    with suppress(OSError):  # nothing is there, or no directory
        _own(data_path).unlink()


def find_server(data_path: Path) -> ServerPlace | None:
    """A server of this data directory, if one is there: of several, the one that started last.

    What a killed one wrote down is out of date, even if another process has its number by now.
    """
    found = (known for _, known in _known(data_path) if _lives(known.pid) and _listens(known.url))
    return next(found, None)


def remember_port(data_path: Path, port: int) -> None:
    """Write down the port for the next server of this data directory."""
    with suppress(OSError):  # the server runs all the same
        _write(data_path / _LAST_PORT, b"%d\n" % port)


def find_last_port(data_path: Path) -> int | None:
    """Returns the port that this data directory was served at last. Returns None if it is not known."""
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


def _own(data_path: Path) -> Path:
    return data_path / _FILES.replace("*", str(os.getpid()))


def _known(data_path: Path) -> list[tuple[Path, ServerPlace]]:
    """All that was written down, the newest first."""
    known = []
    for path in data_path.glob(_FILES):
        with suppress(OSError, msgspec.DecodeError):
            place = msgspec.json.decode(path.read_bytes(), type=ServerPlace)
            known.append((path.stat().st_mtime_ns, path, place))
    return [(path, place) for _, path, place in sorted(known, reverse=True, key=itemgetter(0))]


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
