"""Counts TCP connections, and decides which one is closed if there are too many.

A connection *waits* while the server works on no request of it: the client has sent nothing, or
half a request, or has its response. Every host on the network can open such connections. So their
number is limited, in all and for each address, and the oldest is closed for a new one. The browser
of a user sends a request at once, and gets a response however many other connections wait.

A connection that *works*, on a request or as a WebSocket, is not closed for another one. The hub
limits WebSockets by user. A proxy counts as one address, so only waiting connections are limited by
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

    def connected(self, transport: asyncio.Transport) -> None:
        """Keeps the transport. Closes it if the connection was dropped before it had one."""
        self.transport = transport
        if self.is_dropped:
            transport.abort()

    def drop(self) -> None:
        """Closes the connection at once."""
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
        """Returns how many connections wait."""
        return len(self._waiting)

    def admit(self, address: str) -> TcpConnection | None:
        """Returns a new, waiting connection, or None if too many others work."""
        if len(self._open) >= self._most and not self.drop_oldest():
            return None
        connection = TcpConnection(address_group(address))
        self._open.add(connection)
        self.mark_waiting(connection)
        return connection

    def mark_waiting(self, connection: TcpConnection) -> None:
        """Counts a connection as waiting, without a request.

        Drops an older one if too many wait.
        """
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

    def mark_working(self, connection: TcpConnection) -> None:
        """Counts a connection as working: on a request, or as a WebSocket."""
        if self._waiting.pop(connection, connection) is None:
            same = self._by_group[connection.group]
            del same[connection]
            if not same:
                del self._by_group[connection.group]

    def remove(self, connection: TcpConnection) -> None:
        """Removes a connection that is closed."""
        self.mark_working(connection)
        self._open.discard(connection)

    def drop_oldest(self) -> bool:
        """Closes the connection that has waited longest. Returns False if none waits."""
        oldest = next(iter(self._waiting), None)
        if oldest is None:
            return False
        self._drop(oldest)
        return True

    def _drop(self, connection: TcpConnection) -> None:
        self.remove(connection)
        connection.drop()


def address_group(address: str) -> str:
    """Returns an IPv4 address, or the /64 network of an IPv6 address: a host can use all of it."""
    try:
        read = ip_address(address)
    except ValueError:
        return address
    if not isinstance(read, IPv6Address):
        return address
    if read.ipv4_mapped is not None:
        return str(read.ipv4_mapped)
    return f"{IPv6Address(int(read) >> 64 << 64)}/64"
