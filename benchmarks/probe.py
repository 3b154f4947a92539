"""Light clients of `benchmarks.others`, in their own process.

- `ask`: sends heartbeats on a WebSocket and times each answer, between the lines "start" and "stop"
  on stdin.
- `load`: reads what each line names, with blocking sockets, and discards it.
- `watch`: follows a conversation until a turn has ended.
"""

from __future__ import annotations

import json
import socket
import statistics
import struct
import sys
import threading
import time
from collections.abc import Callable
from urllib.parse import urlsplit

_PAUSE = 0.002  # seconds between an answer and the next heartbeat
_BEAT = b'{"type":"session.heartbeat"}'


def opened(url: str, token: str, *, upgrade: bool, receive: int = 0) -> socket.socket:
    """Opens a socket and sends its request.

    `receive` sets the size of the receive buffer in bytes.
    """
    place = urlsplit(url)
    sock = socket.socket()
    if receive:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    sock.connect((place.hostname, place.port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    path = f"{place.path}?{place.query}" if place.query else place.path
    lines = [f"GET {path} HTTP/1.1", f"Host: {place.netloc}", f"Authorization: Bearer {token}"]
    if upgrade:
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        lines += ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", key]
    else:
        lines.append("Connection: close")
    sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
    return sock


def until(sock: socket.socket, words: bytes) -> None:
    """Reads and discards data until these words have come, or to the end if `words` is empty."""
    buffer, rest = bytearray(1 << 18), b""
    while size := sock.recv_into(buffer):
        if words:
            read = rest + buffer[: min(size, 4096)] + buffer[max(0, size - 4096) : size]
            if words in read:
                return
            rest = bytes(buffer[max(0, size - len(words)) : size])


def follow(url: str, token: str) -> None:
    """Reads a whole replay once."""
    with opened(url, token, upgrade=True) as sock:
        until(sock, b'"session.replay_complete"')


def fetch(url: str, token: str) -> None:
    """Reads a whole HTTP response."""
    with opened(url, token, upgrade=False) as sock:
        until(sock, b"")


def load(token: str) -> None:
    """Runs a line `kind times url` of stdin at a time. Prints `done` when its data are read."""
    for line in sys.stdin:
        kind, times, url = line.split()
        work = follow if kind == "replay" else fetch
        readers = [threading.Thread(target=work, args=(url, token)) for _ in range(int(times))]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        print("done", flush=True)


def ask(token: str) -> None:
    """Times heartbeats.

    The first line is the address; after `stop` prints each time in microseconds.
    """
    sock = opened(sys.stdin.readline().strip(), token, upgrade=True)
    until(sock, b'"session.state"')
    frame = b"\x81" + struct.pack("B", 0x80 | len(_BEAT)) + bytes(4) + _BEAT
    going = threading.Event()
    taken: list[float] = []

    def beat() -> None:
        while going.is_set():
            began = time.perf_counter()
            sock.sendall(frame)
            until(sock, b"heartbeat_ack")
            taken.append((time.perf_counter() - began) * 1e6)
            time.sleep(_PAUSE)

    asking = threading.Thread(target=beat)
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "start\n":
            taken.clear()
            going.set()
            asking = threading.Thread(target=beat)
            asking.start()
            print("started", flush=True)
        else:
            going.clear()
            asking.join()
            print(json.dumps([round(each) for each in taken]), flush=True)


def watch(token: str) -> None:
    """Follows the address of the first line. Each further line waits for the end of a turn."""
    sock = opened(sys.stdin.readline().strip(), token, upgrade=True)
    until(sock, b'"session.state"')
    print("there", flush=True)
    until(sock, b'"assistant.complete"')
    sys.stdin.readline()
    print("seen", flush=True)
    until(sock, b"")


def p99(taken: list[float]) -> float:
    """Returns the 99th percentile."""
    return statistics.quantiles(taken, n=100)[98]


_ROLES: dict[str, Callable[[str], None]] = {"ask": ask, "load": load, "watch": watch}

if __name__ == "__main__":
    _ROLES[sys.argv[1]](sys.argv[2])
