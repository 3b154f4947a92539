"""The relay: an MCP server over stdio, as an agent starts it, that is a wire to Turnwire.

    TURNWIRE_TOOLS_SOCKET=... TURNWIRE_TOOLS_KEY=... python tool_relay.py

It connects to the socket, writes the key as the first line, and then copies its standard input to
the socket, and the socket to its standard output. The session in Turnwire speaks the protocol. The
key is not an argument, because every user of the machine can read the arguments of a process.

A name of the socket that begins with @ is an abstract one of Linux, which leaves no file. Any other
is a path, in a directory of its own. If Turnwire was killed, the relay removes both.

The relay is run as a file and imports only what it needs, so that an agent starts fast.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time

__all__ = ["main"]

_PIECE = 1 << 16
_TRIES, _PAUSE = 10, 0.1  # a process that is killed closes one socket after the other


def main() -> int:
    """Relays until one side ends. Returns the exit code."""
    name = os.environ["TURNWIRE_TOOLS_SOCKET"]
    wire = socket.socket(socket.AF_UNIX)
    try:
        wire.connect(f"\0{name[1:]}" if name.startswith("@") else name)
        wire.sendall(os.environ["TURNWIRE_TOOLS_KEY"].encode() + b"\n")
        while True:
            ready, _, _ = select.select([0, wire.fileno()], [], [])
            if wire.fileno() in ready:
                if not (said := wire.recv(_PIECE)):
                    break
                _write(said)
            if 0 in ready:
                if not (said := os.read(0, _PIECE)):
                    return 0
                wire.sendall(said)
    except OSError as problem:
        sys.stderr.write(f"The front end's tools cannot be reached: {problem}.\n")
    if not name.startswith("@"):
        _remove(name)
    return 1


def _write(said: bytes) -> None:
    while said:
        said = said[os.write(1, said) :]


def _remove(path: str) -> None:
    """Removes the socket and its directory, if Turnwire has ended."""
    try:
        for _ in range(_TRIES):
            with socket.socket(socket.AF_UNIX) as wire:
                wire.connect(path)
            time.sleep(_PAUSE)
    except ConnectionRefusedError:
        os.unlink(path)  # noqa: PTH108  # no pathlib here: it takes long to import
        os.rmdir(os.path.dirname(path))  # noqa: PTH106, PTH120
    except OSError:
        return  # Turnwire has removed them


if __name__ == "__main__":
    sys.exit(main())
