"""Clients of the benchmarks, in their own process: they open sockets and read."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from typing import cast
from urllib.parse import urlsplit

import uvloop


class Sink(asyncio.Protocol):
    """A WebSocket client that reads until some words have come a number of times."""

    say = b""  # sent when the connection is open, if the server expects a first message

    def __init__(self, path: str, host: str, token: str, words: bytes, times: int) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {host}",
            f"Authorization: Bearer {token}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
        ]
        self.request = ("\r\n".join(lines) + "\r\n\r\n").encode()
        self.wait_for(words, times)

    def wait_for(self, words: bytes, times: int) -> None:
        """Starts to wait for these words."""
        self.seen = asyncio.get_running_loop().create_future()
        self._words = words
        self._times = times
        self._tail = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Sends the upgrade request."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Counts the words."""
        if self.say:
            self.transport.write(masked(self.say))
            self.say = b""
        read = self._tail + data
        self._times -= read.count(self._words)
        self._tail = read[-len(self._words) + 1 :]
        if self._times <= 0 and not self.seen.done():
            self.seen.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        """Fails if the words have not come yet."""
        if not self.seen.done():
            self.seen.set_exception(ConnectionError("the server hung up"))


def masked(text: bytes) -> bytes:
    """Returns a text message as a client sends it, with a mask of zeros."""
    size = len(text)
    head = bytes((0x81, 0x80 | size)) if size < 126 else b"\x81\xfe" + size.to_bytes(2, "big")
    return head + bytes(4) + text


async def connect(url: str, token: str, words: str, times: int, kind: type[Sink] = Sink) -> Sink:
    """Connects one client."""
    place = urlsplit(url)
    assert place.hostname is not None
    assert place.port is not None
    path = f"{place.path}?{place.query}"
    _, sink = await asyncio.get_running_loop().create_connection(
        lambda: kind(path, place.netloc, token, words.encode(), times),
        place.hostname,
        place.port,
    )
    return sink


async def main(
    url: str, token: str, count: str, at_once: str, words: str, times: str, say: str
) -> None:
    """Connects `count` clients that wait for `words`.

    - `at_once`: how many clients connect at a time; each leaves when it has seen the words. With 0,
      all clients stay connected. The process then prints `there` when all are connected, and `seen`
      each time all have seen the words.
    - `say`: the first message of each client, which the server answers.
    """
    number = int(count)
    if int(at_once):
        gate = asyncio.Semaphore(int(at_once))

        async def visit() -> None:
            async with gate:
                sink = await connect(url, token, words, int(times))
                await sink.seen
                sink.transport.abort()

        await asyncio.gather(*(visit() for _ in range(number)))
        print("seen", flush=True)
        return
    Sink.say = say.encode()
    hello = '"connection_id"' if say else "session.state"
    sinks = [await connect(url, token, hello, 1) for _ in range(number)]
    await asyncio.gather(*(sink.seen for sink in sinks))
    ended = asyncio.create_task(asyncio.to_thread(sys.stdin.read))
    said = "there"
    while not ended.done():
        for sink in sinks:
            sink.wait_for(words.encode(), int(times))
        print(said, flush=True)
        said = "seen"
        seen = asyncio.gather(*(sink.seen for sink in sinks)) if words else ended
        await asyncio.wait([seen, ended], return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
