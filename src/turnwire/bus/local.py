"""A bus within one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["LocalBus"]


class LocalBus:
    """Calls everyone who subscribes, at once and in order. Who is not there hears nothing."""

    def __init__(self) -> None:
        self._receivers: dict[str, list[Callable[[Any], None]]] = {}

    def publish(self, conversation_id: str, message: Any) -> None:
        """To everyone who subscribes to this conversation now."""
        for receive in list(self._receivers.get(conversation_id, ())):
            receive(message)

    def subscribe(self, conversation_id: str, receive: Callable[[Any], None]) -> Callable[[], None]:
        """From now on; returns what ends it."""
        receivers = self._receivers.setdefault(conversation_id, [])
        receivers.append(receive)

        def end() -> None:
            if receive in receivers:
                receivers.remove(receive)
            if not receivers and self._receivers.get(conversation_id) is receivers:
                del self._receivers[conversation_id]

        return end
