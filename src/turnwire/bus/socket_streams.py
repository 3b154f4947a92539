"""Messages on a Unix stream socket, each after its length in four bytes."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import cast

from turnwire.bus.delivery import deliver
from turnwire.ports.bus import Receive

__all__ = ["Incoming", "Peer"]

_LENGTH = struct.Struct(">I")
_BUSY_SECONDS = 0.05
_FLUSH_SECONDS = 1.0


class Incoming(asyncio.Protocol):
    """A connection of another node, which sends."""

    def __init__(
        self,
        receiver: Callable[[], Receive | None],
        connections: set[asyncio.BaseTransport],
        most_bytes: int,
    ) -> None:
        self._receiver = receiver
        self._connections = connections
        self._most_bytes = most_bytes
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._needed = _LENGTH.size

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has no such base class
        self._connections.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) < self._needed:
            return
        messages, self._needed = self._split()
        for message in messages:
            receive = self._receiver()
            if receive is not None:
                deliver(receive, message)

    def _split(self) -> tuple[list[bytes], int]:
        """Takes the complete messages. Also returns how many bytes the next one needs."""
        messages: list[bytes] = []
        at, end, needed = 0, len(self._buffer), _LENGTH.size
        with memoryview(self._buffer) as view:
            while end - at >= _LENGTH.size:
                (length,) = _LENGTH.unpack_from(view, at)
                if length > self._most_bytes:  # not a node, or one with another limit
                    assert self._transport is not None
                    self._transport.abort()
                    break
                after = at + _LENGTH.size + length
                if end < after:
                    needed = after - at
                    break
                messages.append(bytes(view[at + _LENGTH.size : after]))
                at = after
        del self._buffer[:at]
        return messages, needed


class Peer(asyncio.Protocol):
    """The connection to another node, to which this node sends."""

    def __init__(
        self,
        path: str,
        most_waiting: int,
        *,
        dead: Callable[[], None],
        ended: Callable[[int], None],
    ) -> None:
        """Connects in the background.

        `dead` is called if the socket has no process. `ended` is called when the connection is
        over, with the number of messages that were never written.
        """
        self._path = path
        self._most_waiting = most_waiting
        self._dead = dead
        self._ended = ended
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._transport: asyncio.Transport | None = None
        self._is_over = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._connect())

    def send(self, data: bytes) -> bool:
        """Returns False if the buffer is full, and the message is dropped."""
        transport = self._transport
        waiting = self._waiting_bytes if transport is None else transport.get_write_buffer_size()
        if waiting + len(data) > self._most_waiting:
            return False
        framed = _LENGTH.pack(len(data)) + data
        if transport is None:
            self._waiting.append(framed)
            self._waiting_bytes += len(framed)
        else:
            transport.write(framed)
        return True

    async def close(self) -> None:
        """Writes what waits, for at most a second, and closes the connection."""
        try:
            async with asyncio.timeout(_FLUSH_SECONDS):
                await asyncio.shield(self._task)
                if self._transport is not None:
                    self._transport.close()
                    await asyncio.shield(self._is_over)
        except TimeoutError:
            self._task.cancel()
            if self._transport is not None:
                self._transport.abort()
        await asyncio.wait([self._task])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.writelines(self._waiting)
        self._waiting.clear()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        if not self._is_over.done():
            self._is_over.set_result(None)
            self._ended(len(self._waiting))

    async def _connect(self) -> None:
        try:
            connection = await self._connection()
            await asyncio.get_running_loop().create_unix_connection(lambda: self, sock=connection)
        except ConnectionRefusedError:
            self._dead()
            self._end()
        except OSError:
            self._end()
        except asyncio.CancelledError:
            self._end()
            raise

    async def _connection(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            while True:
                try:
                    connection.connect(self._path)
                    return connection
                except BlockingIOError:  # as many connections wait there as it allows
                    await asyncio.sleep(_BUSY_SECONDS)
        except BaseException:
            connection.close()
            raise
