"""A reverse proxy with a path prefix, which it removes or passes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


@asynccontextmanager
async def proxy(prefix: str, to: list[str], *, strips: bool) -> AsyncIterator[str]:
    """Runs the proxy and yields its address. `to` holds the server's address, possibly added later."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            await _pass_on(reader, writer)
        writer.close()

    async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, rest = head.split(" ", 2)
        if not path.startswith(f"{prefix}/"):
            writer.write(b"HTTP/1.1 404 Not Ours\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        if strips:
            path = path.removeprefix(prefix)
        if "upgrade: websocket" not in head.lower():  # one request on each connection
            rest = rest.replace("\r\nConnection: keep-alive", "\r\nConnection: close")
        place = urlsplit(to[0])
        there, back = await asyncio.open_connection(place.hostname, place.port)
        back.write(f"{method} {path} {rest}".encode("latin-1"))
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(reader, back))
                both.create_task(_copy(there, writer))
        finally:
            back.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
