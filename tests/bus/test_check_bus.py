"""The checks of a bus between nodes, on the bus within one process and on broken ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.bus.sealed import SealedBus
from turnwire.ports import Bus
from turnwire.testing import BusBroken, FaultyBus, check_bus

SECRET = b"a secret of the nodes"


def on(network: LocalNetwork) -> Callable[[], LocalBus]:
    return lambda: LocalBus(network)


async def test_the_bus_within_one_process_keeps_its_promises() -> None:
    network = LocalNetwork()
    await check_bus(on(network))
    assert network.nodes == {}


async def test_the_sealed_bus_keeps_its_promises() -> None:
    network = LocalNetwork()
    await check_bus(lambda: SealedBus(LocalBus(network), SECRET))


@pytest.mark.parametrize("seed", range(10))
async def test_sealed_messages_come_in_order_and_once_over_a_bus_with_faults(seed: int) -> None:
    network = LocalNetwork()
    made: list[FaultyBus] = []

    def make() -> Bus:
        made.append(FaultyBus(LocalBus(network), seed, lose=0.2, double=0.2, reorder=0.2))
        return SealedBus(made[-1], SECRET)

    async def cut() -> None:
        for bus in made:
            bus.cut_off()
            asyncio.get_running_loop().call_later(0.01, bus.come_back)

    await check_bus(make, cut=cut)
    faults = {fault for bus in made for fault, count in bus.faults.items() if count}
    assert faults == {"lost", "doubled", "reordered"}


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"double": 1.0, "lose": 0, "reorder": 0}, "in order and once"),
        ({"double": 0, "lose": 0, "reorder": 0.5}, "come in order"),
        ({"double": 0, "lose": 1.0, "reorder": 0}, "arrives within 0.1 seconds"),
    ],
)
async def test_a_bus_with_faults_breaks_its_promises(faults: dict[str, float], said: str) -> None:
    network = LocalNetwork()
    with pytest.raises(BusBroken, match=said):
        await check_bus(lambda: FaultyBus(LocalBus(network), 1, **faults), patience=0.1)


class _Echo(LocalBus):
    """Delivers a node's own broadcasts to itself, at once."""

    def broadcast(self, data: bytes) -> None:
        super().broadcast(data)
        if self._receive is not None:
            self._receive(data)


class _Loud(LocalBus):
    """Sends every message to all nodes."""

    def send(self, inbox: str, data: bytes) -> None:
        self.broadcast(data)


class _Unbounded(LocalBus):
    """Promises less than it takes, and counts nothing."""

    @property
    def most_bytes(self) -> int:
        return 1000


class _Open(LocalBus):
    """Stays in the network when it is closed."""

    async def close(self) -> None:
        pass


class _Fragile(LocalBus):
    """Raises what its receiver raises, and stops."""

    def _deliver(self) -> None:
        while self._receive is not None and self._waiting:
            try:
                self._receive(self._waiting.popleft())
            except RuntimeError:
                self._receive = None


@pytest.mark.parametrize(
    ("bus", "said"),
    [
        (_Echo, "does not receive its own broadcasts"),
        (_Echo, "never called within"),
        (_Loud, "reaches only the inbox"),
        (_Unbounded, "too large is counted"),
        (_Open, "closed bus is not connected"),
        (_Fragile, "receives the next message: broken promise"),
    ],
)
async def test_a_bus_that_breaks_a_promise_is_caught(bus: type[LocalBus], said: str) -> None:
    network = LocalNetwork()
    with pytest.raises(BusBroken, match=said):
        await check_bus(lambda: bus(network), patience=0.1)


async def test_messages_beyond_the_buffer_are_dropped_and_counted() -> None:
    network, received = LocalNetwork(), list[bytes]()
    sender, receiver = LocalBus(network), LocalBus(network, most_waiting=10)
    await sender.open("sender", lambda data: None)
    await receiver.open("receiver", received.append)
    for number in range(8):
        sender.send("receiver", b"%04d" % number)
    await asyncio.sleep(0)
    assert received == [b"0000", b"0001"]
    assert receiver.dropped == {"buffer_full": 6}
