"""Clients of `benchmarks.doors`, in their own process.

Each line of stdin is a task: `{"url", "count", "say", "there", "words"}`. The clients connect, and
the process prints `there` when each has read the words `there`, and `seen` when each has read
`words`. Then they leave.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, cast
from urllib.parse import urlsplit

import uvloop

from benchmarks.sink import Sink, connect


class EventReader(Sink):
    """A client that reads the events of an HTTP response."""

    def __init__(self, path: str, host: str, token: str, words: bytes, times: int) -> None:
        super().__init__(path, host, token, words, times)
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", f"Authorization: Bearer {token}"]
        lines += ["Accept: text/event-stream", "", ""]
        self.request = "\r\n".join(lines).encode()


async def _follow(task: dict[str, Any], token: str) -> None:
    url, count = str(task["url"]), int(task["count"])
    kind = Sink if urlsplit(url).path.startswith("/ws/") else EventReader
    Sink.say = str(task["say"]).encode()
    readers = [await connect(url, token, str(task["there"]), 1, kind) for _ in range(count)]
    await asyncio.gather(*(reader.seen for reader in readers))
    for reader in readers:
        reader.wait_for(str(task["words"]).encode(), 1)
    print("there", flush=True)
    await asyncio.gather(*(reader.seen for reader in readers))
    print("seen", flush=True)
    for reader in readers:
        reader.transport.abort()


async def main(token: str) -> None:
    """Carries out one task after the other."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        await _follow(cast("dict[str, Any]", json.loads(line)), token)


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
