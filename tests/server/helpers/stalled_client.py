"""A client that connects and then neither reads nor writes."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

from tests.server.helpers.servers import Serving

__all__ = ["stalled"]


async def stalled(server: Serving, name: str, *, buffer: int = 4096) -> socket.socket:
    """Connects without reading, so that no ping is answered. `buffer`: bytes that the system accepts."""
    place = urlsplit(server.url)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, (place.hostname, place.port))
    lines = [
        f"GET /ws/conversations/{name}?protocol=v2 HTTP/1.1",
        f"Host: {place.netloc}",
        f"Authorization: Bearer {server.token}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    await loop.sock_sendall(sock, ("\r\n".join(lines) + "\r\n\r\n").encode())
    return sock
