"""Many tiny parts that arrive at once are handled in slices, in order and without blocking others."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
import uvloop

from tests.server.helpers.frame_checks import play
from tests.server.helpers.servers import Serving
from turnwire.server.tcp.slices import Slices

PATIENCE = 60.0
MANY = 20_000


class Receiver(asyncio.Protocol):
    """Takes longer for each slice than one turn of the loop may take."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.read = bytearray()
        self.reads = 0  # how often the operating system was asked for bytes
        self.done = asyncio.Event()  # all of it is there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.slices = Slices(self.take, cast("asyncio.Transport", transport), lambda: True)

    def data_received(self, data: bytes) -> None:
        self.reads += 1
        self.slices.feed(data)

    def take(self, data: bytes) -> None:
        self.read += data
        until = time.monotonic() + 0.006
        while time.monotonic() < until:
            pass
        if len(self.read) == self.size:
            self.done.set()


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_others_have_a_turn_between_slices(run: object) -> None:
    async def scene() -> None:
        sent = bytes(range(256)) * 200
        ours, theirs = socket.socketpair()
        with ours:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            ours.sendall(sent)
            loop = asyncio.get_running_loop()
            transport, receiver = await loop.create_connection(
                lambda: Receiver(len(sent)), sock=theirs
            )
            turns = 0
            async with asyncio.timeout(PATIENCE):
                while not receiver.done.is_set():
                    turns += 1
                    await asyncio.sleep(0)
            assert receiver.read == sent
            # There are 50 slices, and one turn between each two of them.
            assert turns >= 45 + receiver.reads
            receiver.done.clear()
            receiver.size += 4
            ours.sendall(b"more")  # it reads on
            await asyncio.wait_for(receiver.done.wait(), PATIENCE)
            assert receiver.read.endswith(b"more")
            transport.close()

    run(scene())  # type: ignore[operator]


def frame(opcode: int, payload: bytes = b"") -> bytes:
    """A WebSocket frame, with a mask that changes nothing."""
    return bytes((opcode, 0x80 | len(payload))) + bytes(4) + payload


async def until(reader: asyncio.StreamReader, words: bytes) -> tuple[bytes, int]:
    """Returns the bytes up to these words, and the size of the largest piece."""
    read, largest = b"", 0
    while words not in read:
        piece = await reader.read(1 << 16)
        assert piece, "the server hung up"
        read += piece
        largest = max(largest, len(piece))
    return read, largest


BEAT = frame(0x81, b'{"type":"session.heartbeat","client_message_id":"beat","payload":{}}')


def test_every_ping_is_answered_before_the_next_message(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        place = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        head = (
            f"GET /ws/conversations/{await server.begin()}?protocol=v2 HTTP/1.1",
            f"Host: {place.netloc}",
            f"Authorization: Bearer {server.token}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
        )
        writer.write(("\r\n".join(head) + "\r\n\r\n").encode())
        async with asyncio.timeout(PATIENCE):
            await until(reader, b'"session.state"')
            beginning = frame(0x01, BEAT[6:20]) + frame(0x00) * MANY + frame(0x80, BEAT[20:])
            writer.write(frame(0x89, b"pi") * MANY + beginning)
            read, largest = await until(reader, b'"client_message_id":"beat"')
        assert read.count(b"\x8a\x02pi") == MANY
        assert largest < 40_000  # this client, in the same loop, had its turns between the 80,000
        writer.close()

    play(tmp_path, scene)


def test_a_body_in_tiny_chunks_is_whole(tmp_path: Path) -> None:
    async def scene(server: Serving) -> None:
        body = b'{"title": "' + b"x" * 400 + b'"' + b" " * MANY + b"}"
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
        place = urlsplit(server.url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        head = (
            f"Host: {place.netloc}\r\nAuthorization: Bearer {server.token}\r\n"
            "Content-Type: application/json\r\n"
        )
        first = f"POST /api/conversations HTTP/1.1\r\n{head}Transfer-Encoding: chunked\r\n\r\n"
        then = f"GET /healthz HTTP/1.1\r\n{head}Connection: close\r\n\r\n"
        writer.write(first.encode() + chunks + then.encode())
        async with asyncio.timeout(PATIENCE):
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 201")
        assert b'"title":"' + b"x" * 400 + b'"' in answer
        assert b'"status":"ok"' in answer  # the next request is answered as well
        writer.close()

    play(tmp_path, scene)
