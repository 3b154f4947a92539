"""Faults of real servers: killed, frozen, restarted; slow receivers. Senders are not held."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.bus.servers import BusServer, NatsServer, ValkeyServer
from tests.stores.postgres.server import TestServer
from turnwire.bus.open_bus import open_bus
from turnwire.bus.server_bus import ServerBus

PATIENCE = 60.0

NODE = """
import asyncio, sys
from turnwire.bus.open_bus import open_bus

async def main():
    bus = open_bus(sys.argv[1])
    await bus.open("slow", lambda data: None)
    print("ready", flush=True)
    await asyncio.sleep(3600)

asyncio.run(main())
"""


class Node:
    """A node with what it has received."""

    def __init__(self, url: str, inbox: str, **options: Any) -> None:
        bus = open_bus(url, **options)
        assert isinstance(bus, ServerBus)
        self.bus, self.inbox = bus, inbox
        self.received: set[bytes] = set()
        self.reconnects = 0

    async def open(self) -> None:
        await self.bus.open(self.inbox, self.received.add, reconnected=self._reconnected)

    def _reconnected(self) -> None:
        self.reconnects += 1


@asynccontextmanager
async def pair(url: str, **options: Any) -> AsyncIterator[tuple[Node, Node]]:
    a, b = Node(url, "a", **options), Node(url, "b", **options)
    try:
        await a.open()
        await b.open()
        yield a, b
    finally:
        await a.bus.close()
        await b.bus.close()


async def until(is_true: Callable[[], bool], meanwhile: Callable[[], None] | None = None) -> None:
    async with asyncio.timeout(PATIENCE):
        while not is_true():
            if meanwhile is not None:
                meanwhile()
            await asyncio.sleep(0.005)


async def arrives(sender: Node, receiver: Node, data: bytes) -> None:
    await until(lambda: data in receiver.received, lambda: sender.bus.send(receiver.inbox, data))


@pytest.fixture(params=["nats", "valkey"])
def server(request: pytest.FixtureRequest) -> BusServer:
    found: BusServer = request.getfixturevalue(f"{request.param}_server")
    return found


async def test_a_killed_server_loses_messages_until_it_is_started_again(
    server: BusServer, caplog: pytest.LogCaptureFixture
) -> None:
    async with pair(server.url) as (a, b):
        await arrives(a, b, b"before")
        await asyncio.to_thread(server.kill)
        try:
            await until(lambda: not a.bus.is_connected and not b.bus.is_connected)
            before = a.bus.dropped["not_connected"]
            a.bus.send("b", b"lost")
            a.bus.broadcast(b"lost")
            assert a.bus.dropped["not_connected"] == before + 2
            late = Node(server.url, "late")
            await late.open()  # does not raise
            assert not late.bus.is_connected
        finally:
            await asyncio.to_thread(server.start)
        await arrives(a, b, b"after")
        await arrives(b, a, b"after")
        await arrives(a, late, b"after")
        assert b"lost" not in b.received
        await until(lambda: (a.reconnects, b.reconnects, late.reconnects) == (1, 1, 1))
        await late.bus.close()
    # Each loss and each return is logged once, not each attempt.
    lost = [message for message in caplog.messages if "is not connected" in message]
    again = [message for message in caplog.messages if "is connected again" in message]
    assert (len(lost), len(again)) == (3, 3)


async def test_a_frozen_server_is_noticed_and_does_not_hold_the_sender(server: BusServer) -> None:
    async with pair(server.url, most_waiting=100_000, probe_seconds=0.2) as (a, b):
        await arrives(a, b, b"before")
        server.signal(signal.SIGSTOP)
        try:
            for _ in range(1000):  # more than the buffers of the sockets take
                a.bus.send("b", b"x" * 10_000)
            assert a.bus.dropped["buffer_full"] > 0
            await until(lambda: not a.bus.is_connected)
            await until(lambda: not b.bus.is_connected)
        finally:
            server.signal(signal.SIGCONT)
        await arrives(a, b, b"after")
        await arrives(b, a, b"after")


async def test_a_silent_connection_to_valkey_is_kept(valkey_server: ValkeyServer) -> None:
    async with pair(f"{valkey_server.url}?socket_timeout=0.05", probe_seconds=0.3) as (a, b):
        rounds = 0

        def probed() -> None:
            nonlocal rounds
            rounds += a.bus._probe_heard.is_set()
            a.bus._probe_heard.clear()

        await until(lambda: rounds == 3, probed)  # each after a silence of 0.3 seconds
        assert (a.reconnects, b.reconnects) == (0, 0)


@pytest.fixture
def own_postgres() -> Iterator[TestServer]:
    """A server for one test, which may be killed."""
    server = TestServer()
    yield server
    server.stop()


async def test_killed_backends_and_a_restart_of_postgres_are_survived(
    own_postgres: TestServer,
) -> None:
    pids = "SELECT pid FROM pg_stat_activity WHERE application_name = 'turnwire bus'"
    async with pair(own_postgres.admin) as (a, b):
        await arrives(a, b, b"before")
        (first, *_) = await own_postgres.run(pids)
        own_postgres.signal_backend(first["pid"])  # SIGKILL: the server ends all others as well
        await until(lambda: a.reconnects == b.reconnects == 1, lambda: a.bus.broadcast(b"lost?"))
        await arrives(a, b, b"after a kill")
        await arrives(b, a, b"after a kill")
        await asyncio.to_thread(own_postgres.restart, "immediate")
        await until(lambda: a.reconnects == b.reconnects == 2, lambda: a.bus.broadcast(b"lost?"))
        await arrives(a, b, b"after a restart")
        await arrives(b, a, b"after a restart")


@pytest.fixture(params=["nats", "valkey", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "postgres":
        address: str = request.getfixturevalue("empty_database")
        return address
    found: BusServer = request.getfixturevalue(f"{request.param}_server")
    return found.url


@pytest.fixture
def stopped_node(url: str) -> Iterator[None]:
    """A process that is connected as the node "slow", and is stopped."""
    slow = subprocess.Popen([sys.executable, "-c", NODE, url], stdout=subprocess.PIPE)
    try:
        assert slow.stdout is not None
        assert slow.stdout.readline() == b"ready\n"
        slow.send_signal(signal.SIGSTOP)
        yield
    finally:
        slow.kill()
        slow.communicate()


@pytest.mark.usefixtures("stopped_node")
async def test_a_stopped_receiver_does_not_hold_the_sender(url: str) -> None:
    async with pair(url) as (a, b):
        for number in range(50):
            for _ in range(20):
                a.bus.send("slow", b"x" * 10_000)
            await arrives(a, b, b"%d" % number)
        assert a.bus.is_connected
        assert a.reconnects == 0


@pytest.mark.parametrize("make", [NatsServer, ValkeyServer])
def test_a_test_server_leaves_nothing(make: Callable[[], BusServer]) -> None:
    server = make()
    server.stop()
    assert not server.folder.exists()
