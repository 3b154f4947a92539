"""A stand-in carries the messages while the main bus is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.bus.servers import NatsServer
from turnwire.bus.failover import FailoverBus
from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.bus.nats import NatsBus
from turnwire.bus.postgres import PostgresBus
from turnwire.bus.sealed import SealedBus
from turnwire.ports import Bus
from turnwire.testing import FaultyBus, check_bus

SECRET = b"a secret of the nodes"
PATIENCE = 30.0


class Node:
    """A node with a main bus that can be cut off, and a stand-in."""

    def __init__(self, name: str, main: LocalNetwork, stand_in: LocalNetwork) -> None:
        self.name = name
        self.main = FaultyBus(LocalBus(main), 1, lose=0, double=0, reorder=0)
        self.stand_in = FaultyBus(LocalBus(stand_in), 1, lose=0, double=0, reorder=0)
        failover = FailoverBus(self.main, self.stand_in, announce_seconds=0.02)
        self.bus = SealedBus(failover, SECRET)
        self.received: list[bytes] = []
        self.reconnects = 0

    async def open(self) -> Node:
        def reconnected() -> None:
            self.reconnects += 1

        await self.bus.open(self.name, self.received.append, reconnected=reconnected)
        return self


@pytest.fixture
def nodes() -> list[Node]:
    main, stand_in = LocalNetwork(), LocalNetwork()
    return [Node(name, main, stand_in) for name in "abc"]


async def until(is_true: Callable[[], bool], meanwhile: Callable[[], None]) -> None:
    """Repeats a call until a condition is true."""
    async with asyncio.timeout(PATIENCE):
        while not is_true():
            meanwhile()
            await asyncio.sleep(0.002)


async def test_two_buses_together_keep_the_promises_of_one() -> None:
    main, stand_in = LocalNetwork(), LocalNetwork()
    made: list[FaultyBus] = []

    def make() -> Bus:
        made.append(FaultyBus(LocalBus(main), 1))
        failover = FailoverBus(made[-1], LocalBus(stand_in), announce_seconds=0.02)
        return SealedBus(failover, SECRET)

    async def cut() -> None:
        for bus in made:
            bus.cut_off()

    await check_bus(make, cut=cut)


async def test_a_node_without_the_main_bus_is_reached_and_heard(nodes: list[Node]) -> None:
    a, b, c = [await node.open() for node in nodes]
    b.main.cut_off()
    await until(lambda: b"to b" in b.received, lambda: a.bus.send("b", b"to b"))
    await until(lambda: b"to all" in b.received, lambda: a.bus.broadcast(b"to all"))
    await until(lambda: b"from b" in a.received, lambda: b.bus.send("a", b"from b"))
    assert b.reconnects == 1
    assert a.bus.is_connected
    assert b.bus.is_connected
    before = len(c.received)
    a.bus.broadcast(b"once")  # over both buses, as b hears only one of them
    await until(lambda: b"after" in c.received, lambda: a.bus.send("c", b"after"))
    assert c.received[before:].count(b"once") == 1
    for node in nodes:
        await node.bus.close()


async def test_the_stand_in_rests_when_the_main_bus_is_back(nodes: list[Node]) -> None:
    a, b, _ = [await node.open() for node in nodes]
    b.main.cut_off()
    await until(lambda: b"to b" in b.received, lambda: a.bus.send("b", b"to b"))
    b.main.come_back()
    assert b.reconnects == 2
    # The announcement arrives or becomes too old: nothing goes over the stand-in any more.
    a.stand_in.cut_off()
    await until(lambda: b"main again" in b.received, lambda: a.bus.send("b", b"main again"))
    for node in nodes:
        await node.bus.close()


async def test_an_announcement_is_forgotten_when_it_is_not_repeated(nodes: list[Node]) -> None:
    a, b, _ = [await node.open() for node in nodes]
    b.main.cut_off()
    await until(lambda: b"to b" in b.received, lambda: a.bus.send("b", b"to b"))
    b.stand_in.cut_off()  # "back on the main bus" is lost
    b.main.come_back()
    await until(lambda: b"main again" in b.received, lambda: a.bus.send("b", b"main again"))
    for node in nodes:
        await node.bus.close()


async def test_an_announcement_on_the_main_bus_is_ignored_because_anyone_may_make_it() -> None:
    main, stand_in = LocalNetwork(), LocalNetwork()
    a, b = [await Node(name, main, stand_in).open() for name in "ab"]
    stranger = LocalBus(main)
    await stranger.open("stranger", lambda _: None)
    stranger.broadcast(b"\1b")
    stranger.send("b", b"\0the last")
    await until(lambda: bool(b.bus.dropped), lambda: None)
    a.stand_in.cut_off()
    a.bus.send("b", b"over the main bus")
    await until(lambda: b.received == [b"over the main bus"], lambda: None)
    for bus in (a.bus, b.bus, stranger):
        await bus.close()


async def test_postgres_stands_in_for_a_killed_nats_server(
    nats_server: NatsServer, empty_database: str
) -> None:
    mains: list[NatsBus] = []

    def make() -> Bus:
        mains.append(NatsBus(nats_server.url))
        failover = FailoverBus(mains[-1], PostgresBus(empty_database), announce_seconds=0.1)
        return SealedBus(failover, SECRET)

    async def cut() -> None:
        await asyncio.to_thread(nats_server.kill)

    try:
        await check_bus(make, cut=cut, patience=PATIENCE)
        assert not any(bus.is_connected for bus in mains)
        await check_bus(make, patience=PATIENCE)  # opened while it is down
    finally:
        await asyncio.to_thread(nats_server.start)
    await check_bus(make, patience=PATIENCE)
