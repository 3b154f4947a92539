"""Accepts TCP connections up to a limit, and closes those above it at once.

The server of asyncio has no limit. If no file descriptor is free, it logs each attempt, and leaves
new connections in the backlog of the socket, where they are never answered.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress

from turnwire.background import BackgroundTasks
from turnwire.server.tcp.connections import TcpConnection, TcpConnections

__all__ = ["Acceptor"]

_log = logging.getLogger("turnwire")
_BACKLOG = 2048
_AT_ONCE = 64  # connections accepted in one iteration of the loop
_PAUSE = 1.0  # seconds without accepting, if not even a new connection can be closed
_WARN_EVERY = 60.0  # seconds between two warnings
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Acceptor:
    """Accepts the connections of one listening socket, from `start` to `stop`."""

    def __init__(
        self,
        listener: socket.socket,
        connections: TcpConnections,
        make_protocol: Callable[[TcpConnection], asyncio.Protocol],
    ) -> None:
        self._listener = listener
        self._connections = connections
        self._make_protocol = make_protocol
        self._loop = asyncio.get_running_loop()
        self._connecting = BackgroundTasks()
        self._resuming: asyncio.TimerHandle | None = None
        self._spare = -1  # a file descriptor to free when there are no others
        self._warned_at = float("-inf")
        self._is_stopped = False

    def start(self) -> None:
        """Starts listening."""
        self._listener.setblocking(False)
        self._listener.listen(_BACKLOG)
        self._keep_spare()
        self._loop.add_reader(self._listener.fileno(), self._accept)

    def stop(self) -> None:
        """Stops accepting. The caller closes the socket."""
        if self._is_stopped:
            return
        self._is_stopped = True
        if self._resuming is not None:
            self._resuming.cancel()
        self._loop.remove_reader(self._listener.fileno())
        if self._spare >= 0:
            os.close(self._spare)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, peer = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as failure:
                if failure.errno not in _NO_FILES:
                    raise
                self._make_room()
                return
            connection = self._connections.admit(str(peer[0]))
            if connection is None:
                self._warn("Too many connections are in use")
                accepted.close()
            else:
                self._connect(accepted, connection)

    def _connect(self, accepted: socket.socket, connection: TcpConnection) -> None:
        async def connect() -> None:
            try:
                accepted.setblocking(False)
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                protocol = self._make_protocol(connection)
                await self._loop.connect_accepted_socket(lambda: protocol, accepted)
            except BaseException as failure:
                self._connections.remove(connection)
                accepted.close()
                if not isinstance(failure, OSError):  # an OSError means that the client has left
                    raise

        self._connecting.run(connect())

    # --- without file descriptors -----------------------------------------------------------------

    def _make_room(self) -> None:
        """Closes a waiting connection, or the new one, because no file descriptor is free."""
        self._warn("This process can open no more files")
        if self._connections.drop_oldest():
            return  # its descriptor is free in the next iteration
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
            with suppress(OSError):
                self._listener.accept()[0].close()
        self._keep_spare()
        if self._spare < 0:
            self._loop.remove_reader(self._listener.fileno())
            self._resuming = self._loop.call_later(_PAUSE, self._resume)

    def _resume(self) -> None:
        self._keep_spare()
        self._loop.add_reader(self._listener.fileno(), self._accept)

    def _keep_spare(self) -> None:
        if self._spare < 0:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _warn(self, what: str) -> None:
        now = self._loop.time()
        if now >= self._warned_at + _WARN_EVERY:
            self._warned_at = now
            _log.warning(
                "%s (%d connections): new ones are closed at once. Raise the limit of open files "
                "(ulimit -n), or check which clients connect.",
                what,
                len(self._connections),
            )
