"""Checks that any implementation of the port Bus can be run through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from turnwire.ports import Bus
from turnwire.testing.expect import expect

__all__ = ["check_bus"]


async def check_bus(make_bus: Callable[[], Bus], *, patience: float = 5.0) -> None:
    """Run every check against a new bus. Raises AssertionError with the promise that was broken.

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
    for _ in range(100):  # it may be lost: say it until it is heard
        bus.publish("one", "last")
        await asyncio.wait([last], timeout=patience / 100)
        if last.done():
            break
    numbers = [message for message in heard if isinstance(message, int)]
    expect(
        numbers == sorted(set(numbers)), f"messages come in order, and once; these did: {numbers}"
    )
    expect(not other, f"nobody hears of another conversation; this was heard: {other}")
    expect(last.done(), f"something of what is published arrives within {patience:g} seconds")

    end()
    end()  # ending twice does no harm
    before = len(heard)
    bus.publish("one", "after the end")
    await asyncio.sleep(0)
    expect("after the end" not in heard[before:], "a subscriber hears nothing after its end")
    end_other()
    bus.publish("nobody", "into the void")  # must not raise
