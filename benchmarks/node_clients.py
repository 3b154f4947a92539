"""Clients of `benchmarks.nodes`, in their own process. Each line of stdin is a task.

- `late URL`: follows until a turn has ended; prints the median delay of its deltas and their number.
- `command TIMES URL URL`: sends messages to the two addresses in turn; prints the median time until
  the answer to each.
- `follow URL ...`: opens sockets, which stay open until the process ends.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from itertools import count
from socket import socket

import uvloop

from benchmarks.late import Listener
from benchmarks.probe import opened, until
from benchmarks.sink import connect, masked

_MESSAGE = b'{"type":"user.message","client_message_id":"m-%d","payload":{"content":"go"}}'
_numbers = count(1)
_kept: list[socket] = []


async def late(token: str, url: str) -> None:
    """Follows until a turn has ended, and prints the delays of its deltas in nanoseconds."""
    sink = await connect(url, token, '"session.state"', 1, Listener)
    assert isinstance(sink, Listener)
    await sink.seen
    sink.wait_for(b'"assistant.complete"', 1)
    print("there", flush=True)
    await sink.seen
    sink.transport.abort()
    print(f"{statistics.median(sink.late)} {len(sink.late)}", flush=True)


class Speaker:
    """A socket that sends messages, and reads its frames in order."""

    def __init__(self, url: str, token: str) -> None:
        self._sock = opened(url, token, upgrade=True)
        self._read = b""

    def until(self, words: bytes) -> None:
        """Reads until these words have come."""
        while words not in self._read:
            self._read = self._read[-len(words) :] + self._sock.recv(1 << 16)
        self._read = self._read.partition(words)[2]

    def say(self) -> int:
        """Sends a message. Returns the nanoseconds until its answer."""
        text = _MESSAGE % next(_numbers)
        began = time.monotonic_ns()
        self._sock.sendall(masked(text))
        self.until(b'"user.message.ack"')
        return time.monotonic_ns() - began

    def close(self) -> None:
        """Closes the socket."""
        self._sock.close()


async def command(token: str, times: str, *urls: str) -> None:
    """Sends messages on both sockets in turn, and prints the median times in nanoseconds."""
    both = [Speaker(url, token) for url in urls]
    for each in both:
        each.until(b'"session.state"')
    taken: dict[Speaker, list[int]] = {each: [] for each in both}
    for _ in range(int(times)):
        for speaker in both:
            taken[speaker].append(speaker.say())
            for each in both:  # the next message begins a turn, as this one did
                each.until(b'"assistant.complete"')
                each.until(b'"state":"active"')
    print(*(statistics.median(taken[each]) for each in both), flush=True)
    for each in both:
        each.close()


async def follow(token: str, *urls: str) -> None:
    """Opens sockets that stay open."""
    for url in urls:
        _kept.append(opened(url, token, upgrade=True))
        until(_kept[-1], b'"session.state"')
    print("there", flush=True)


_ROLES: dict[str, Callable[..., Awaitable[None]]] = {
    "late": late,
    "command": command,
    "follow": follow,
}


async def main(token: str) -> None:
    """Does one task after the other."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        role, *given = line.split()
        await _ROLES[role](token, *given)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
