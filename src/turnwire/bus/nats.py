"""A bus on NATS: core messages, one subject for each node and one for all."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from turnwire.bus.address import BusAddress
from turnwire.bus.extra import need
from turnwire.bus.server_bus import ID_BYTES, BusRefused, Link, Outgoing, ServerBus

__all__ = ["SCHEMES", "NatsBus"]

SCHEMES = ("nats", "tls")

_CLOSE_SECONDS = 2.0


class NatsBus(ServerBus):
    """Nodes that use one NATS server or NATS cluster.

    The subjects are `turnwire.<cluster>.node.<inbox>` and `turnwire.<cluster>.all`.
    """

    deaf_reason = "The user of the server needs the right to publish and subscribe to `turnwire.>`."

    def __init__(self, url: str, *, cluster: str = "main", **options: Any) -> None:
        """Raises TurnwireError if the extra `nats` is not installed."""
        super().__init__(BusAddress(url, SCHEMES), **options)
        need("nats", "The bus on NATS")
        self._prefix = f"turnwire.{cluster}"
        self._server_most = 1024 * 1024  # what a server allows by default

    @property
    def most_bytes(self) -> int:
        """Maximum size of a message: what the server allows, at most the chosen size."""
        return min(self._most_bytes, self._server_most - ID_BYTES)

    def subject(self, inbox: str | None) -> str:
        """Returns the subject of a node, or of all."""
        return f"{self._prefix}.all" if inbox is None else f"{self._prefix}.node.{inbox}"

    async def _connect(self, inbox: str) -> Link:
        from nats.errors import AuthorizationError, NoServersError

        link = _NatsLink(self)
        try:
            await link.connect(self._address.url, inbox)
        except Exception as failure:
            await link.close()
            # While it connects, the client raises a refusal of the server as a plain error.
            is_refused = "authorization" in str(failure).lower()
            if is_refused or isinstance(failure, AuthorizationError):
                said = self._address.without_secrets(str(failure))
                raise BusRefused(f"The bus {self._address} refuses this node: {said}") from failure
            if isinstance(failure, NoServersError) and link.failure is not None:
                raise link.failure from failure
            raise
        except BaseException:
            await link.close()
            raise
        self._server_most = link.client.max_payload
        return link


class _NatsLink:
    def __init__(self, bus: NatsBus) -> None:
        from nats.aio.client import Client

        all_nodes = bus.subject(None)

        def take(*, subject: str, data: bytes, **_: Any) -> None:
            if subject == all_nodes:
                bus.heard_all(data)
            else:
                bus.heard(data)

        class DirectClient(Client):  # type: ignore[misc]
            """Gives each message to this bus while it is parsed, and keeps none.

            The queues of the two subscriptions would lose the order between `send` and `broadcast`.
            """

            msg_class = staticmethod(take)

        self._bus = bus
        self.client = DirectClient()
        self._ended = asyncio.Event()
        self.failure: Exception | None = None

    async def connect(self, url: str, inbox: str) -> None:
        await self.client.connect(
            url,
            name="turnwire bus",
            # The bus itself reconnects, and says so. These two end `connect` after two attempts.
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=5,
            error_cb=self._failed,
            closed_cb=self._closed,
        )
        for subject in (self._bus.subject(inbox), self._bus.subject(None)):
            await self.client.subscribe(subject)
        await self.client.flush()

    async def _failed(self, failure: Exception) -> None:
        self.failure = failure

    async def _closed(self) -> None:
        self._ended.set()

    async def write(self, messages: list[Outgoing]) -> None:
        # The client's `publish` hands each message to another task, which costs more than the rest.
        transport = self.client._transport
        if self.client.is_closed or transport is None:
            raise ConnectionError("the connection is closed")
        transport.write(b"".join(self._command(*each) for each in messages))
        await transport.drain()

    def _command(self, inbox: str | None, data: bytes) -> bytes:
        marked = data if inbox is not None else self._bus.marked(data)
        return b"PUB %b %d\r\n%b\r\n" % (self._bus.subject(inbox).encode(), len(marked), marked)

    async def lost(self) -> None:
        await self._ended.wait()
        if self.failure is not None:
            raise self.failure

    async def close(self) -> None:
        with suppress(Exception):
            await asyncio.wait_for(self.client.close(), _CLOSE_SECONDS)
