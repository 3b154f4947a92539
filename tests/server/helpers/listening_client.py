"""A client that reads every frame, and a poll for a condition."""

from __future__ import annotations

import asyncio

from tests.server.helpers.servers import Serving
from tests.server.helpers.stalled_client import stalled
from tests.server.helpers.v2_client import PATIENCE


async def until(condition: object) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # type: ignore[operator]
            await asyncio.to_thread(lambda: None)


class Listener(asyncio.Protocol):
    """A client that reads and keeps every frame."""

    def __init__(self) -> None:
        self.read = bytearray()
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.read += data

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True

    def messages(self) -> list[bytes]:
        """The text messages that have come whole; large ones come in pieces (RFC 6455, 5.2 and 5.4)."""
        found, at = [], self.read.index(b"\r\n\r\n") + 4
        pieces = b""
        while at + 10 <= len(self.read):
            size, head = self.read[at + 1], 2
            if size >= 126:
                head = 4 if size == 126 else 10
                size = int.from_bytes(self.read[at + 2 : at + head], "big")
            pieces += self.read[at + head : at + head + size]
            if self.read[at] & 0x80:
                found.append(pieces)
                pieces = b""
            at += head + size
        return found


async def listening(server: Serving, name: str) -> Listener:
    sock = await stalled(server, name, buffer=1 << 16)
    _, listener = await asyncio.get_running_loop().create_connection(Listener, sock=sock)
    return listener
