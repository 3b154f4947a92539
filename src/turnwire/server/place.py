"""Where a running server can be found: a small file in the data directory."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

__all__ = ["ServerPlace", "find_server", "forget_server", "tell_server"]

_FILE = "server.json"


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
    """The server of this data directory, if its process is alive."""
    known = _read(data_path)
    if known is None:
        return None
    try:
        os.kill(known.pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return known


def _read(data_path: Path) -> ServerPlace | None:
    try:
        return msgspec.json.decode((data_path / _FILE).read_bytes(), type=ServerPlace)
    except (OSError, msgspec.DecodeError):
        return None
