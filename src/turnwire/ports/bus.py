"""What a bus promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Bus"]


class Bus(Protocol):
    """Tells whoever follows a conversation that something happened.

    Loss is allowed: a subscriber that hears nothing looks at the log after a while by itself, so a
    lost message delays delivery and never loses it. Order within one conversation holds for what
    arrives.
    """

    def publish(self, conversation_id: str, message: Any) -> None:
        """To everyone who subscribes to this conversation now. Never waits."""

    def subscribe(self, conversation_id: str, receive: Callable[[Any], None]) -> Callable[[], None]:
        """From now on; returns what ends it. `receive` must not wait."""
