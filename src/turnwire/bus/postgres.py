"""A bus on PostgreSQL: LISTEN and NOTIFY on a connection of its own, never within a commit.

A payload of NOTIFY is text of at most 7,999 bytes. So a message is sent in numbered parts as
base64: `sender.number.part.parts.base64`. If a part is lost, the whole message is dropped.
"""

from __future__ import annotations

import asyncio
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from secrets import token_hex
from typing import Any

from turnwire.bus.address import BusAddress
from turnwire.bus.extra import need
from turnwire.bus.server_bus import ID_BYTES, BusRefused, Link, Outgoing, ServerBus

__all__ = ["SCHEMES", "PostgresBus"]

SCHEMES = ("postgresql", "postgres")

_PART_BYTES = 5900  # 7,868 as base64; the rest of the 7,999 is for the numbers
_MOST_PARTIAL = 256  # messages that are not complete yet
# A notification needs a transaction id, but there is nothing to wait for on the disk.
_SETTINGS = {
    "application_name": "turnwire bus",
    "synchronous_commit": "off",
    "statement_timeout": "30s",
    "jit": "off",
}


class PostgresBus(ServerBus):
    """Nodes that use one database. A node has one connection."""

    deaf_reason = (
        "LISTEN does not work through a connection pooler in transaction mode: use the address of"
        " the database itself, or session mode."
    )

    def __init__(self, url: str, *, cluster: str = "main", **options: Any) -> None:
        """Raises TurnwireError if the extra `postgres` is not installed."""
        super().__init__(BusAddress(url, SCHEMES), **options)
        need("asyncpg", "The bus on PostgreSQL")
        self._cluster = cluster
        self._sender = token_hex(ID_BYTES)
        self._number = 0
        self._partial: dict[str, _Partial] = {}

    async def _connect(self, inbox: str) -> Link:
        import asyncpg

        self._partial.clear()
        try:
            link = _PostgresLink(self, await self._connection())
        except (
            asyncpg.InvalidAuthorizationSpecificationError,
            asyncpg.InvalidCatalogNameError,
        ) as refused:
            said = self._address.without_secrets(str(refused))
            raise BusRefused(f"The bus {self._address} refuses this node: {said}") from refused
        try:
            await link.listen(inbox, self._heard_part)
            # Over a second connection: behind a pooler the first one may hear only itself.
            other = _PostgresLink(self, await self._connection())
            try:
                await other.write([(inbox, b"")])
            finally:
                await other.close()
            return link
        except BaseException:
            await link.close()
            raise

    async def _connection(self) -> Any:
        import asyncpg

        return await asyncpg.connect(self._address.url, timeout=5.0, server_settings=_SETTINGS)

    def channel(self, inbox: str | None) -> str:
        """Returns the channel of a node, or of all."""
        return _channel(self._cluster, inbox)

    # --- parts ----------------------------------------------------------------------------------

    def parts(self, data: bytes) -> list[str]:
        """Returns the payloads of a message."""
        self._number += 1
        pieces = [data[at : at + _PART_BYTES] for at in range(0, len(data), _PART_BYTES)] or [b""]
        head = f"{self._sender}.{self._number}"
        return [
            f"{head}.{part}.{len(pieces)}.{b64encode(piece).decode()}"
            for part, piece in enumerate(pieces)
        ]

    def _heard_part(self, payload: str) -> None:
        try:
            sender, number, part, parts, text = payload.split(".")
            place, count, data = int(part), int(parts), b64decode(text, validate=True)
        except ValueError:
            self._dropped["malformed"] += 1
            return
        if sender == self._sender and data:
            return  # a broadcast of this node
        if count == 1:
            self.heard(data)
            return
        partial = self._partial.get(sender)
        if place == 0:
            if partial is not None:
                self._dropped["incomplete"] += 1
            if count * _PART_BYTES > self._most_bytes + _PART_BYTES:
                self._partial.pop(sender, None)
                self._dropped["too_large"] += 1
                return
            self._partial[sender] = _Partial(number, count, data)
            if len(self._partial) > _MOST_PARTIAL:
                del self._partial[next(iter(self._partial))]
                self._dropped["incomplete"] += 1
        elif partial is not None and partial.add(number, place, data):
            if partial.is_complete:
                del self._partial[sender]
                self.heard(b"".join(partial.pieces))
        elif partial is not None:
            del self._partial[sender]
            self._dropped["incomplete"] += 1


@lru_cache(maxsize=1024)
def _channel(cluster: str, inbox: str | None) -> str:
    """Returns the name of a channel. PostgreSQL allows 63 bytes."""
    name = f"{cluster}/{'all' if inbox is None else f'node/{inbox}'}"
    return f"turnwire_{hashlib.blake2b(name.encode(), digest_size=16).hexdigest()}"


class _Partial:
    """A message of which only the first parts have come. Parts come in order."""

    def __init__(self, number: str, count: int, first: bytes) -> None:
        self.number = number
        self.count = count
        self.pieces = [first]

    def add(self, number: str, place: int, data: bytes) -> bool:
        """Returns whether this is the next part."""
        is_next = (number, place) == (self.number, len(self.pieces))
        if is_next:
            self.pieces.append(data)
        return is_next

    @property
    def is_complete(self) -> bool:
        return len(self.pieces) == self.count


class _PostgresLink:
    def __init__(self, bus: PostgresBus, connection: Any) -> None:
        self._bus = bus
        self._connection = connection
        self._ended = asyncio.Event()
        connection.add_termination_listener(lambda _: self._ended.set())

    async def listen(self, inbox: str, heard: Callable[[str], None]) -> None:
        def notified(connection: Any, pid: int, channel: str, payload: str) -> None:
            heard(payload)

        for channel in (self._bus.channel(inbox), self._bus.channel(None)):
            await self._connection.add_listener(channel, notified)

    async def write(self, messages: list[Outgoing]) -> None:
        # NOTIFY as text takes a third less time than a prepared `pg_notify`. It takes no parameters,
        # but there is nothing to quote: names of channels are hexadecimal, payloads base64. Several
        # statements in one text are one transaction, in this order.
        await self._connection.execute(
            ";".join(
                f"NOTIFY {self._bus.channel(inbox)}, '{part}'"
                for inbox, data in messages
                for part in self._bus.parts(data)
            )
        )

    async def lost(self) -> None:
        await self._ended.wait()

    async def close(self) -> None:
        with suppress(Exception):
            await self._connection.close(timeout=1.0)
        with suppress(Exception):
            self._connection.terminate()
