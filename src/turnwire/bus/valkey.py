"""A bus on Valkey or Redis: publish and subscribe, one channel for each node and one for all."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from turnwire.bus.address import BusAddress
from turnwire.bus.extra import need
from turnwire.bus.server_bus import BusRefused, Link, Outgoing, ServerBus

__all__ = ["SCHEMES", "ValkeyBus"]

SCHEMES = ("valkey", "valkeys", "redis", "rediss", "valkey+unix")


class ValkeyBus(ServerBus):
    """Nodes that use one Valkey or Redis server. A node has two connections.

    The channels are `turnwire:<cluster>:node:<inbox>` and `turnwire:<cluster>:all`.
    """

    deaf_reason = "The user of the server needs the right to use the channels `turnwire:*`."

    def __init__(self, url: str, *, cluster: str = "main", **options: Any) -> None:
        """Raises TurnwireError if the extra `valkey` is not installed."""
        super().__init__(BusAddress(url, SCHEMES), **options)
        need("valkey", "The bus on Valkey")
        self._prefix = f"turnwire:{cluster}"

    def channel(self, inbox: str | None) -> str:
        """Returns the channel of a node, or of all."""
        return f"{self._prefix}:all" if inbox is None else f"{self._prefix}:node:{inbox}"

    async def _connect(self, inbox: str) -> Link:
        from valkey.exceptions import AuthenticationError, AuthorizationError, NoPermissionError

        refusals = (AuthenticationError, AuthorizationError, NoPermissionError)
        link = _ValkeyLink(self, self._address.url)
        try:
            await link.connect(inbox)
        except Exception as failure:
            await link.close()
            # The client wraps a refusal in an error of the connection.
            if isinstance(failure, refusals) or isinstance(failure.__cause__, refusals):
                said = self._address.without_secrets(str(failure))
                raise BusRefused(f"The bus {self._address} refuses this node: {said}") from failure
            raise
        except BaseException:
            await link.close()
            raise
        return link


class _ValkeyLink:
    """Two plain connections: the client's own classes would reconnect without a word."""

    def __init__(self, bus: ValkeyBus, url: str) -> None:
        from valkey.asyncio.connection import ConnectionPool

        self._bus = bus
        self._pool = ConnectionPool.from_url(
            # The scheme `unix` alone is the bus of sockets in a directory.
            url.removeprefix("valkey+"),
            socket_connect_timeout=5.0,
            protocol=2,
        )
        self._listening = self._pool.make_connection()
        self._publishing = self._pool.make_connection()
        # Silence is no failure, and the bus itself probes the connections.
        self._listening.socket_timeout = self._publishing.socket_timeout = None
        self._all = bus.channel(None).encode()
        self._has_replies = True

    async def connect(self, inbox: str) -> None:
        await self._publishing.connect()
        await self._listening.connect()
        channels = (self._bus.channel(inbox), self._bus.channel(None))
        await self._listening.send_command("SUBSCRIBE", *channels)
        for _ in channels:
            await self._listening.read_response()
        await self._stop_replies()

    async def _stop_replies(self) -> None:
        """Has the server send no reply to each message, if it allows that: probes are enough."""
        from valkey.exceptions import ResponseError

        with suppress(ResponseError):
            # OFF has no reply, not even a refusal that could be told from none: ON shows it first.
            await self._publishing.send_command("CLIENT", "REPLY", "ON")
            await self._publishing.read_response()
            await self._publishing.send_command("CLIENT", "REPLY", "OFF")
            self._has_replies = False

    async def write(self, messages: list[Outgoing]) -> None:
        packed = b"".join(self._command(*each) for each in messages)
        await self._publishing.send_packed_command(packed)
        if self._has_replies:
            for _ in messages:
                await self._publishing.read_response()

    def _command(self, inbox: str | None, data: bytes) -> bytes:
        channel = self._bus.channel(inbox).encode()
        marked = data if inbox is not None else self._bus.marked(data)
        place = (len(channel), channel, len(marked), marked)
        return b"*3\r\n$7\r\nPUBLISH\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % place

    async def lost(self) -> None:
        while True:
            kind, channel, data = await self._listening.read_response()
            if kind != b"message":
                continue
            if channel == self._all:
                self._bus.heard_all(data)
            else:
                self._bus.heard(data)

    async def close(self) -> None:
        for connection in (self._listening, self._publishing):
            with suppress(Exception):
                await connection.disconnect(nowait=True)
