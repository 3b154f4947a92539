"""A bus between processes of one host: each node listens on a Unix socket in a common directory.

A node finds the others in the directory, and connects to a node when it first sends to it. A
connection carries messages in one direction, each after its length. The socket of a node that has
died refuses connections; the next node that notices removes it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from turnwire.bus.address import BadBusAddress
from turnwire.bus.socket_directory import ShortDirectory, make_private
from turnwire.bus.socket_streams import Incoming, Peer
from turnwire.ports.bus import Receive

__all__ = ["UnixBus"]

log = logging.getLogger("turnwire.bus")

_SUFFIX, _UNFINISHED = ".sock", ".new"
_FRESH_SECONDS = 60.0
_COARSE_CLOCK = 50_000_000  # nanoseconds; times of files are that exact, or better


class UnixBus:
    """Nodes of one host and one user. The directory belongs to this user alone (mode 0700)."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        *,
        most_bytes: int = 8 * 1024 * 1024,
        most_waiting: int = 16 * 1024 * 1024,
        look_seconds: float = 5.0,
    ) -> None:
        """`most_waiting` bounds the bytes that wait for one slow node.

        Every `look_seconds` the node makes sure that its socket is still in the directory.
        """
        self._directory = Path(directory).absolute()
        self._most_bytes = most_bytes
        self._most_waiting = most_waiting
        self._look_seconds = look_seconds
        self._dropped: Counter[str] = Counter()
        self._name = ""
        self._receive: Receive | None = None
        self._short: ShortDirectory | None = None
        self._server: asyncio.Server | None = None
        self._inode = 0
        self._incoming: set[asyncio.BaseTransport] = set()
        self._peers: dict[str, Peer] = {}
        self._others: list[str] = []
        self._others_at = -1  # the time of the directory when the others were read
        self._watch: asyncio.Task[None] | None = None

    @classmethod
    def at(cls, url: str, *, cluster: str = "main", **options: Any) -> UnixBus:
        """Returns the bus of `unix:///directory`. Each cluster has a directory of its own in it."""
        parts = urlsplit(url)
        if parts.scheme != "unix" or parts.netloc or not parts.path.startswith("/"):
            raise BadBusAddress("The address of a bus of sockets has the form unix:///directory.")
        return cls(Path(unquote(parts.path)) / cluster, **options)

    # --- the port -------------------------------------------------------------------------------

    @property
    def most_bytes(self) -> int:
        """Maximum size of a message."""
        return self._most_bytes

    @property
    def is_connected(self) -> bool:
        """Whether the node listens."""
        return self._server is not None

    @property
    def dropped(self) -> Mapping[str, int]:
        """The number of dropped messages: not_connected, unknown_inbox, too_large, buffer_full."""
        return self._dropped

    async def open(
        self, inbox: str, receive: Receive, *, reconnected: Callable[[], None] | None = None
    ) -> None:
        """Listens. Raises BadBusAddress if other users can use the directory."""
        self._name, self._receive = _socket_name(inbox), receive
        try:
            await self._listen()
        except BaseException:
            await self.close()
            raise
        self._watch = asyncio.create_task(self._stay(reconnected), name="turnwire bus")

    def send(self, inbox: str, data: bytes) -> None:
        """Sends a message to the node with this inbox."""
        if self._may_send(data):
            self._send(_socket_name(inbox), data)

    def broadcast(self, data: bytes) -> None:
        """Sends a message to all other nodes in the directory."""
        if self._may_send(data):
            for name in self._names():
                self._send(name, data)

    async def close(self) -> None:
        """Sends what waits, for at most a second, and removes the socket."""
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        if self._server is not None:
            self._server.close()
            self._server = None
            with suppress(OSError):
                if self._is_in_place():
                    self._path(self._name).unlink()
        self._receive = None
        await asyncio.gather(*(peer.close() for peer in [*self._peers.values()]))
        for transport in [*self._incoming]:
            transport.close()
        if self._short is not None:
            self._short.close()
            self._short = None

    # --- sending --------------------------------------------------------------------------------

    def _may_send(self, data: bytes) -> bool:
        if self._server is None:
            self._dropped["not_connected"] += 1
        elif len(data) > self._most_bytes:
            self._dropped["too_large"] += 1
        else:
            return True
        return False

    def _send(self, name: str, data: bytes) -> None:
        peer = self._peers.get(name)
        if peer is None:
            assert self._short is not None
            place, path = self._short.path(name), self._path(name)
            if not path.exists():
                self._dropped["unknown_inbox"] += 1
                return
            peer = self._peers[name] = Peer(
                place,
                self._most_waiting,
                dead=lambda: path.unlink(missing_ok=True),
                ended=lambda lost: self._forget(name, lost),
            )
        if not peer.send(data):
            self._dropped["buffer_full"] += 1

    def _forget(self, name: str, lost: int) -> None:
        self._peers.pop(name, None)
        self._dropped["unknown_inbox"] += lost

    def _names(self) -> list[str]:
        """Returns the sockets of the other nodes; reads the directory only if it has changed."""
        try:
            changed_at = self._directory.stat().st_mtime_ns
            if changed_at != self._others_at:
                names = [entry.name for entry in os.scandir(self._directory)]
                self._others = [
                    name for name in names if name.endswith(_SUFFIX) and name != self._name
                ]
                # A later change may have the same time, if the clock of the files is coarse.
                is_old = time.time_ns() - changed_at > _COARSE_CLOCK
                self._others_at = changed_at if is_old else -1
        except OSError:
            self._others_at = -1
        return self._others

    # --- receiving ------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Creates the socket. It gets its name when it accepts connections, not earlier."""
        make_private(self._directory)
        self._remove_unfinished()
        if self._short is not None:
            self._short.close()
        self._short = ShortDirectory(self._directory, len(self._name + _UNFINISHED))
        unfinished = self._name + _UNFINISHED
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._path(unfinished).unlink(missing_ok=True)
            listening.bind(self._short.path(unfinished))
            listening.listen(1024)
            listening.setblocking(False)
            server = await asyncio.get_running_loop().create_unix_server(
                lambda: Incoming(self._heard, self._incoming, self._most_bytes), sock=listening
            )
        except BaseException:
            listening.close()
            raise
        self._path(unfinished).rename(self._path(self._name))
        self._inode = self._path(self._name).stat().st_ino
        if self._server is not None:
            self._server.close()
        self._server = server

    def _heard(self) -> Receive | None:
        return self._receive

    async def _stay(self, reconnected: Callable[[], None] | None) -> None:
        """Listens again if the socket was removed."""
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                if not self._is_in_place():
                    await self._listen()
                    log.warning("The socket of the bus in %s was made again", self._directory)
                    if reconnected is not None:
                        reconnected()
            except (OSError, BadBusAddress) as failure:
                log.warning("The bus in %s cannot be used: %s", self._directory, failure)

    def _is_in_place(self) -> bool:
        try:
            return self._path(self._name).stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _remove_unfinished(self) -> None:
        """Removes sockets of nodes that died while they were starting."""
        for path in self._directory.glob(f"*{_UNFINISHED}"):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _FRESH_SECONDS:
                    path.unlink()

    def _path(self, name: str) -> Path:
        return self._directory / name


def _socket_name(inbox: str) -> str:
    """Returns the name of a socket: short, and a file name whatever the inbox is called."""
    return hashlib.blake2b(inbox.encode(), digest_size=16).hexdigest() + _SUFFIX
