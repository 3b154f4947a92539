"""The bus within one process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from turnwire.bus.local import LocalBus
from turnwire.testing.check_bus import check_bus


def test_the_local_bus_keeps_its_promises() -> None:
    asyncio.run(check_bus(LocalBus))


class _Backwards(LocalBus):
    """Delivers the newest first."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: list[tuple[str, Any]] = []

    def publish(self, conversation_id: str, message: Any) -> None:
        self._waiting.append((conversation_id, message))
        if message == "last":
            for waiting in reversed(self._waiting):
                super().publish(*waiting)


class _Loud(LocalBus):
    """Tells everyone everything."""

    def publish(self, conversation_id: str, message: Any) -> None:
        for name in list(self._receivers):
            super().publish(name, message)


class _Endless(LocalBus):
    """Never lets anybody go."""

    def subscribe(self, conversation_id: str, receive: Callable[[Any], None]) -> Callable[[], None]:
        super().subscribe(conversation_id, receive)
        return lambda: None


@pytest.mark.parametrize(
    ("bus", "said"),
    [(_Backwards, "out of order"), (_Loud, "another conversation"), (_Endless, "after its end")],
)
def test_a_bus_that_breaks_a_promise_is_caught(bus: type[LocalBus], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        asyncio.run(check_bus(bus))


def test_a_bus_that_never_delivers_is_of_no_use() -> None:
    class Silent(LocalBus):
        def publish(self, conversation_id: str, message: Any) -> None:
            pass

    with pytest.raises(TimeoutError):
        asyncio.run(check_bus(Silent, patience=0.1))
