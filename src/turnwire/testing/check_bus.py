"""Checks that any implementation of the port Bus can be run through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from turnwire.ports import Bus

__all__ = ["check_bus"]


async def check_bus(make_bus: Callable[[], Bus], *, patience: float = 5.0) -> None:
    """Run every check against a new bus. Raises AssertionError with what went wrong.

    A bus may lose messages, so nothing here fails because one did not arrive; only because one
    arrived that should not have, or in another order than it was sent. A bus that never delivers
    anything is of no use, though: that fails too.
    """
    bus = make_bus()
    loop = asyncio.get_running_loop()
    heard: list[Any] = []
    other: list[Any] = []
    last = loop.create_future()

    def receive(message: Any) -> None:
        heard.append(message)
        if message == "last" and not last.done():
            last.set_result(None)

    end = bus.subscribe("one", receive)
    end_other = bus.subscribe("two", other.append)
    for number in range(100):
        bus.publish("one", number)
    async with asyncio.timeout(patience):
        while not last.done():  # it may be lost: say it until it is heard
            bus.publish("one", "last")
            await asyncio.wait([last], timeout=patience / 100)
    numbers = [message for message in heard if isinstance(message, int)]
    assert numbers == sorted(set(numbers)), f"messages came twice or out of order: {numbers}"
    assert not other, f"a subscriber heard of another conversation: {other}"

    end()
    end()  # ending twice does no harm
    before = len(heard)
    bus.publish("one", "after the end")
    await asyncio.sleep(0)
    assert "after the end" not in heard[before:], "a subscriber heard something after its end"
    end_other()
    bus.publish("nobody", "into the void")  # must not raise
