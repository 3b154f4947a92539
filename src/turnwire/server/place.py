"""Where a running server can be found: a small file in the data directory."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

__all__ = ["ServerPlace", "find_server", "forget_server", "tell_server"]

_FILE = "server.json"
_PATIENCE = 5.0  # seconds that a server of this machine may take to take a connection


class ServerPlace(Struct, frozen=True):
    """A server that runs on this data directory."""

    url: str
    pid: int


def tell_server(data_path: Path, url: str) -> None:
    """Write down where we are. The last one that starts is the one that is found."""
    unfinished = data_path / f".{_FILE}.{os.getpid()}"
    unfinished.touch(mode=0o600)
    unfinished.write_bytes(msgspec.json.encode(ServerPlace(url, os.getpid())))
    unfinished.replace(data_path / _FILE)


def forget_server(data_path: Path) -> None:
    """We are gone; if another one is there, it stays known."""
    known = _read(data_path)
    if known is not None and known.pid == os.getpid():
        with suppress(FileNotFoundError):
            (data_path / _FILE).unlink()


def find_server(data_path: Path) -> ServerPlace | None:
    """The server of this data directory, if it is there.

    What a killed one wrote down is out of date, even if another process has its number by now.
    """
    known = _read(data_path)
    return known if known is not None and _lives(known.pid) and _listens(known.url) else None


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


def _read(data_path: Path) -> ServerPlace | None:
    try:
        return msgspec.json.decode((data_path / _FILE).read_bytes(), type=ServerPlace)
    except (OSError, msgspec.DecodeError):
        return None
