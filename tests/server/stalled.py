"""A client that connects, and then does nothing."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

from tests.server.serving import Serving

__all__ = ["stalled"]


async def stalled(server: Serving, name: str, *, address: str | None = None) -> socket.socket:
    """It does not read, and so answers no ping. `address`: where it finds the server."""
    place = urlsplit(server.url)
    there = urlsplit(address or server.url)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, (there.hostname, there.port))
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
