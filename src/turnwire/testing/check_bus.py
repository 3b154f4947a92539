"""Checks that a bus implements the bus port correctly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from turnwire.ports import Bus
from turnwire.testing.expect import expect

__all__ = ["check_bus"]


async def check_bus(make_bus: Callable[[], Bus], *, patience: float = 5.0) -> None:
    """Runs every check on a new bus. Raises AssertionError with the promise that was broken.

    A bus may lose messages, so a single lost message is no failure. These are failures: a message
    for another conversation, a message after the end of the subscription, a wrong order, a
    duplicate, and a bus that delivers no message within `patience` seconds.
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
    for _ in range(100):  # repeated, because a bus may lose messages
        bus.publish("one", "last")
        await asyncio.wait([last], timeout=patience / 100)
        if last.done():
            break
    numbers = [message for message in heard if isinstance(message, int)]
    expect(
        numbers == sorted(set(numbers)), f"messages come in order, and once; received: {numbers}"
    )
    expect(not other, f"no subscriber receives messages of another conversation: {other}")
    expect(last.done(), f"at least one published message arrives within {patience:g} seconds")

    end()
    end()  # a second call must not raise
    before = len(heard)
    bus.publish("one", "after the end")
    await asyncio.sleep(0)
    expect("after the end" not in heard[before:], "a subscriber receives nothing after its end")
    end_other()
    bus.publish("three", "without subscribers")  # must not raise
