"""The bus within one process."""

from __future__ import annotations

import asyncio
import subprocess
import sys
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


class _Twice(LocalBus):
    """Says everything again."""

    def publish(self, conversation_id: str, message: Any) -> None:
        super().publish(conversation_id, message)
        super().publish(conversation_id, message)


class _Mute(LocalBus):
    """Says nothing."""

    def publish(self, conversation_id: str, message: Any) -> None:
        pass


class _Endless(LocalBus):
    """Never lets anybody go."""

    def subscribe(self, conversation_id: str, receive: Callable[[Any], None]) -> Callable[[], None]:
        super().subscribe(conversation_id, receive)
        return lambda: None


@pytest.mark.parametrize(
    ("bus", "said"),
    [
        (_Backwards, "come in order"),
        (_Twice, "and once"),
        (_Loud, "another conversation"),
        (_Endless, "after its end"),
        (_Mute, "arrives within 0.2 seconds"),
    ],
)
def test_a_bus_that_breaks_a_promise_is_caught(bus: type[LocalBus], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        asyncio.run(check_bus(bus, patience=0.2))


def test_the_checks_hold_where_assert_is_switched_off() -> None:
    judge = (
        "import asyncio; from tests.bus.test_local import _Twice; "
        "from turnwire.testing import check_bus; asyncio.run(check_bus(_Twice))"
    )
    judged = subprocess.run([sys.executable, "-O", "-c", judge], capture_output=True, text=True)
    assert judged.returncode == 1
    assert "broken promise: messages come in order, and once" in judged.stderr
