"""A bus on a server ends its connection, whatever its driver does with a cancellation."""

from __future__ import annotations

import asyncio

import pytest

from turnwire.bus.address import BusAddress
from turnwire.bus.server_bus import Link, Outgoing, ServerBus

PATIENCE = 30.0


class StubbornLink:
    """A link that swallows cancellations, as nats-py does while it flushes."""

    def __init__(self, bus: StubbornBus) -> None:
        self._bus = bus
        self.lose = asyncio.Event()
        self.is_closed = False

    async def write(self, messages: list[Outgoing]) -> None:
        for _, data in messages:
            if data:
                await self._never()
            self._bus.heard(data)

    async def _never(self) -> None:
        for _ in range(self._bus.swallowed):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    async def lost(self) -> None:
        await self.lose.wait()

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.is_closed = True


class StubbornBus(ServerBus):
    def __init__(self, swallowed: int) -> None:
        super().__init__(BusAddress("test://server", ("test",)))
        self.swallowed = swallowed
        self.links: list[StubbornLink] = []
        self.connect_swallows = False

    async def _connect(self, inbox: str) -> Link:
        if self.connect_swallows:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.connect_swallows = False
        self.links.append(StubbornLink(self))
        return self.links[-1]


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwire.bus.server_bus._CANCEL_SECONDS", 0.01)
    monkeypatch.setattr("turnwire.bus.server_bus._FLUSH_SECONDS", 0.01)
    monkeypatch.setattr("turnwire.bus.server_bus._FIRST_DELAY", 0.001)


async def no_other_task_is_left() -> bool:
    await asyncio.sleep(0)
    return asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("swallowed", [1, 3])
async def test_a_bus_is_closed_although_its_driver_swallows_a_cancellation(swallowed: int) -> None:
    bus = StubbornBus(swallowed)
    await bus.open("a", lambda data: None)
    bus.send("b", b"stuck")
    await asyncio.wait_for(bus.close(), PATIENCE)
    assert [link.is_closed for link in bus.links] == [True]
    assert await no_other_task_is_left()


async def test_a_bus_connects_again_although_its_driver_swallows_a_cancellation() -> None:
    bus, again = StubbornBus(2), asyncio.Event()
    await bus.open("a", lambda data: None, reconnected=again.set)
    bus.send("b", b"stuck")
    await asyncio.sleep(0)
    bus.links[0].lose.set()
    await asyncio.wait_for(again.wait(), PATIENCE)
    await asyncio.wait_for(bus.close(), PATIENCE)
    assert [link.is_closed for link in bus.links] == [True, True]
    assert await no_other_task_is_left()


async def test_a_bus_is_closed_although_its_driver_connects_meanwhile() -> None:
    bus = StubbornBus(0)
    bus.connect_swallows = True
    opening = asyncio.create_task(bus.open("a", lambda data: None))
    await asyncio.sleep(0)
    await asyncio.wait_for(bus.close(), PATIENCE)
    assert all(link.is_closed for link in bus.links)
    opening.cancel()
    await asyncio.wait([opening])
    assert await no_other_task_is_left()


async def test_a_connection_that_ends_while_the_bus_is_closed_is_closed() -> None:
    bus = StubbornBus(0)
    await bus.open("a", lambda data: None)
    bus.links[0].lose.set()
    await asyncio.wait_for(bus.close(), PATIENCE)
    assert [link.is_closed for link in bus.links] == [True]
    assert await no_other_task_is_left()
