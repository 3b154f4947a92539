"""Requests with arbitrary headers, as browsers or attackers may send them."""

from __future__ import annotations

import asyncio
import base64
import os
from typing import Any
from urllib.parse import urlsplit

import msgspec
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import State
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

Headers = list[tuple[str, str]]


async def upgrade(
    url: str, path: str, headers: Headers, *, say: bytes | None = None
) -> tuple[list[dict[str, Any]], int, str]:
    """Open a WebSocket with exactly these headers: the frames until it closes, the code, and the
    subprotocol. A connection that is not closed is left after its first frame, with code 0.

    `say` is sent when it is open, where the server waits for that.
    """
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    key = base64.b64encode(os.urandom(16)).decode()
    given = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
    ]
    lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in [*headers, *given])]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
    asked = dict(headers).get("Sec-WebSocket-Protocol", "").split(", ")
    spoken = [Subprotocol(each) for each in asked if each]
    wire = ClientProtocol(parse_uri(f"ws://{place.netloc}{path}"), subprotocols=spoken or None)
    wire.key = key
    wire.send_request(wire.connect())
    wire.data_to_send()
    frames: list[dict[str, Any]] = []
    chosen = ""
    try:
        while True:
            data = await asyncio.wait_for(reader.read(65536), 10)
            if not data:
                wire.receive_eof()
            else:
                wire.receive_data(data)
            for event in wire.events_received():
                if isinstance(event, Response):
                    if event.status_code != 101:
                        return frames, event.status_code, ""
                    chosen = event.headers.get("Sec-WebSocket-Protocol", "")
                    if say is not None and wire.state is State.OPEN:
                        wire.send_text(say)
                        writer.write(b"".join(wire.data_to_send()))
                elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                    frames.append(msgspec.json.decode(bytes(event.data)))
            if wire.close_rcvd is not None:
                return frames, wire.close_rcvd.code, chosen
            answers = [frame.get("id") or frame.get("requestId") for frame in frames]
            if any(answers) or any(frame.get("type") == "session.state" for frame in frames):
                return frames, 0, chosen
            assert data, "the server hung up"
    finally:
        writer.close()


async def request(
    url: str, method: str, path: str, headers: Headers, body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """Exactly this request: status, headers and body of the answer."""
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    try:
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
        lines += [f"Content-Length: {len(body)}", "Connection: close"]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)
        answer = await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()
    head, _, rest = answer.partition(b"\r\n\r\n")
    first, *others = head.decode("latin-1").split("\r\n")
    told = dict(line.lower().split(": ", 1) for line in others)
    return int(first.split()[1]), told, rest
