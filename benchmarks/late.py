"""Clients that measure the delay of deltas, in their own process; one of them may not read."""

from __future__ import annotations

import asyncio
import re
import socket
import statistics
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import uvloop

from benchmarks.sink import Sink, connect

# The time at which a delta was sent: nanoseconds of a clock shared by all processes.
_SAID = re.compile(rb"(\d{12,}) x")


class Listener(Sink):
    """A client that measures the delay of each delta."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.late: list[int] = []
        self._rest = b""

    def data_received(self, data: bytes) -> None:
        """Measures the deltas in the received data."""
        now, end = time.monotonic_ns(), 0
        read = self._rest + data
        for said in _SAID.finditer(read):
            self.late.append(now - int(said[1]))
            end = said.end()
        self._rest = read[max(end, len(read) - 30) :]  # a number may be incomplete
        super().data_received(data)


def stall(url: str, token: str) -> socket.socket:
    """Opens a WebSocket that never reads."""
    place = urlsplit(url)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect((place.hostname, place.port))
    sock.sendall(Sink(f"{place.path}?{place.query}", place.netloc, token, b"", 1).request)
    return sock


async def main(url: str, token: str, count: str, slow: str) -> None:
    """Prints `there` when all are connected, then the 99th percentile of a turn in microseconds."""
    stalled = [stall(url, token) for _ in range(int(slow))]
    if stalled:
        print("stalled", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    sinks = [await connect(url, token, "session.state", 1, Listener) for _ in range(int(count))]
    await asyncio.gather(*(sink.seen for sink in sinks))
    for sink in sinks:
        sink.wait_for(b'"assistant.complete"', 1)
    print("there", flush=True)
    await asyncio.gather(*(sink.seen for sink in sinks))
    late = [each for sink in sinks if isinstance(sink, Listener) for each in sink.late]
    print(f"{statistics.quantiles(late, n=100)[98] / 1000} {len(late)}", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
