"""A TCP relay between a client and a server that can go silent without closing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

__all__ = ["Line", "line_to"]


class Line:
    """Forwards every byte until it is silenced."""

    def __init__(self, url: str) -> None:
        self.url = ""
        self._there = urlsplit(url)
        self._dead = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []

    def die(self) -> None:
        """Stops all traffic from now on. Both ends stay open."""
        self._dead.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(
            self._there.hostname, self._there.port
        )
        self._writers += [writer, far_writer]
        await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer))

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        dead = asyncio.create_task(self._dead.wait())
        with suppress(ConnectionError):
            while True:
                read = asyncio.create_task(reader.read(65536))
                await asyncio.wait([read, dead], return_when=asyncio.FIRST_COMPLETED)
                if dead.done():
                    read.cancel()
                    return
                if not (piece := read.result()):
                    break
                writer.write(piece)
                await writer.drain()
        dead.cancel()
        writer.close()

    def close(self) -> None:
        self._dead.set()
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def line_to(url: str) -> AsyncIterator[Line]:
    """`Line.url` leads to the same server."""
    line = Line(url)
    listener = await asyncio.start_server(line.accept, "127.0.0.1", 0)
    line.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield line
    finally:
        listener.close()
        line.close()
