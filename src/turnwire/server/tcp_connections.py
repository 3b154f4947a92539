"""Counts TCP connections, and decides which one is closed when there are too many.

A connection waits while no request is carried out on it: it has sent nothing, half a request, or has
its answer. Anyone on the network can make the server hold such connections, so they are limited, in
all and for each address, and the oldest is closed when a new one needs its place. A person who comes
in sends a request at once, and so gets an answer however many others wait.

A connection with a request in work, or with a WebSocket, is not closed for another one. The hub limits
those, by user. A proxy counts as one address: that is why only waiting connections are limited by
address.
"""

from __future__ import annotations

import asyncio
from ipaddress import IPv6Address, ip_address

__all__ = ["TcpConnection", "TcpConnections", "address_group"]


class TcpConnection:
    """One accepted connection."""

    __slots__ = ("group", "is_dropped", "transport")

    def __init__(self, group: str) -> None:
        self.group = group
        self.transport: asyncio.Transport | None = None
        self.is_dropped = False

    def made(self, transport: asyncio.Transport) -> None:
        """Keep the transport; close it if the connection lost its place before it had one."""
        self.transport = transport
        if self.is_dropped:
            transport.abort()

    def drop(self) -> None:
        """Close it at once."""
        self.is_dropped = True
        if self.transport is not None:
            self.transport.abort()


class TcpConnections:
    """All accepted connections of one server. Every operation takes constant time."""

    def __init__(self, *, most: int, most_waiting: int, most_waiting_per_address: int) -> None:
        self._most = most
        self._most_waiting = most_waiting
        self._most_per_address = most_waiting_per_address
        self._open: set[TcpConnection] = set()
        self._waiting: dict[TcpConnection, None] = {}  # the oldest first
        self._by_group: dict[str, dict[TcpConnection, None]] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def waiting(self) -> int:
        """How many connections wait."""
        return len(self._waiting)

    def admit(self, address: str) -> TcpConnection | None:
        """Returns a new connection, which waits; None if no other one can be closed for it."""
        if len(self._open) >= self._most and not self.drop_oldest():
            return None
        connection = TcpConnection(address_group(address))
        self._open.add(connection)
        self.wait(connection)
        return connection

    def wait(self, connection: TcpConnection) -> None:
        """No request is carried out on it from now on."""
        if connection not in self._open or connection in self._waiting:
            return
        same = self._by_group.setdefault(connection.group, {})
        if len(same) >= self._most_per_address:
            self._drop(next(iter(same)))
            same = self._by_group.setdefault(connection.group, {})
        elif len(self._waiting) >= self._most_waiting:
            self.drop_oldest()
            same = self._by_group.setdefault(connection.group, {})
        self._waiting[connection] = None
        same[connection] = None

    def work(self, connection: TcpConnection) -> None:
        """A request is carried out on it, or it has become a WebSocket."""
        if self._waiting.pop(connection, connection) is None:
            same = self._by_group[connection.group]
            del same[connection]
            if not same:
                del self._by_group[connection.group]

    def gone(self, connection: TcpConnection) -> None:
        """It is closed."""
        self.work(connection)
        self._open.discard(connection)

    def drop_oldest(self) -> bool:
        """Close the connection that has waited longest. False: none waits."""
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        self._drop(oldest)
        return True

    def _drop(self, connection: TcpConnection) -> None:
        self.gone(connection)
        connection.drop()


def address_group(address: str) -> str:
    """The address itself; of IPv6 its network of 64 bits, because one host can use all of those."""
    try:
        read = ip_address(address)
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return address
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return f"{IPv6Address(int(read) >> 64 << 64)}/64"
