"""The bus port: the interface that notifies followers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["Bus"]


class Bus(Protocol):
    """Notifies the subscribers of a conversation that something happened.

    Loss is allowed: a subscriber without notifications polls the log after a while. So a lost
    message delays delivery, but loses no entry. Messages of one conversation arrive in order.
    """

    def publish(self, conversation_id: str, message: Any) -> None:
        """Sends a message to all current subscribers of this conversation. Never blocks."""

    def subscribe(self, conversation_id: str, receive: Callable[[Any], None]) -> Callable[[], None]:
        """Subscribes to a conversation; returns a function that unsubscribes.

        `receive` must not block.
        """
