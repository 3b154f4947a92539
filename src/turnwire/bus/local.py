"""A bus within one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["LocalBus"]


class LocalBus:
    """Calls all subscribers, immediately and in order. Later subscribers miss earlier messages."""

    def __init__(self) -> None:
        self._receivers: dict[str, list[Callable[[Any], None]]] = {}

    def publish(self, conversation_id: str, message: Any) -> None:
        """Sends a message to all current subscribers of this conversation."""
        for receive in list(self._receivers.get(conversation_id, ())):
            receive(message)

    def subscribe(self, conversation_id: str, receive: Callable[[Any], None]) -> Callable[[], None]:
        """Subscribes to a conversation; returns a function that unsubscribes."""
        receivers = self._receivers.setdefault(conversation_id, [])
        receivers.append(receive)

        def end() -> None:
            if receive in receivers:
                receivers.remove(receive)
            if not receivers and self._receivers.get(conversation_id) is receivers:
                del self._receivers[conversation_id]

        return end
