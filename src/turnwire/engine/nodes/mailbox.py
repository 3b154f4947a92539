"""This node among the others: sends messages to them, and hands theirs to the parts they are for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from turnwire.crash_points import CrashPoint, reach
from turnwire.engine.nodes import messages as m
from turnwire.ports import Bus

__all__ = ["Mailbox"]

_log = logging.getLogger("turnwire")


class Mailbox:
    """The connection of this process to the bus."""

    def __init__(self, bus: Bus, inbox: str) -> None:
        self.inbox = inbox
        self._bus = bus
        self._handlers: dict[type, Callable[[Any], None]] = {}
        self._topics: dict[str, Callable[[Any], None]] = {}
        self._claimed: set[str] = set()  # to be told to the others

    @property
    def most_bytes(self) -> int:
        """Maximum size of an encoded message."""
        return self._bus.most_bytes

    async def open(self, reconnected: Callable[[], None]) -> None:
        """Begins to receive. `reconnected` is called when messages may have been lost."""
        await self._bus.open(self.inbox, self._receive, reconnected=reconnected)

    async def close(self) -> None:
        """Leaves the bus."""
        await self._bus.close()

    def handle(self, *handlers: tuple[type, Callable[[Any], None]]) -> None:
        """Sets the function that gets the messages of each type."""
        self._handlers.update(handlers)

    def send(self, inbox: str, message: m.Message) -> None:
        """Sends a message to one node. It may be lost."""
        data = m.encode(message)
        reach(CrashPoint.NODE_SENDS)
        self._bus.send(inbox, data)
        reach(CrashPoint.NODE_SENT)

    def broadcast(self, message: m.Message) -> None:
        """Sends a message to all other nodes. It may be lost."""
        data = m.encode(message)
        reach(CrashPoint.NODE_BROADCASTS)
        self._bus.broadcast(data)
        reach(CrashPoint.NODE_BROADCAST)

    def _receive(self, data: bytes) -> None:
        message = m.decode(data)
        if message is None:
            return
        if isinstance(message, m.Announced):
            self._hear(message)
            return
        handler = self._handlers.get(type(message))
        if handler is not None:
            try:
                handler(message)
            except Exception:  # a defect must not end the connection to the other nodes
                _log.exception("A message of the node %s could not be handled.", message.sender)

    # --- claims -------------------------------------------------------------------------------

    def tell_claimed(self, conversation_id: str) -> None:
        """Tells all nodes that this one runs a conversation. Claims are told together."""
        if not self._claimed:
            asyncio.get_running_loop().call_soon(self._tell_claimed)
        self._claimed.add(conversation_id)

    def _tell_claimed(self) -> None:
        names, self._claimed = sorted(self._claimed), set()
        self.broadcast(m.Claimed(self.inbox, names))

    # --- news of the application --------------------------------------------------------------

    def announce(self, topic: str, data: Any) -> None:
        """Tells all other nodes something that the application above the engine understands."""
        self.broadcast(m.Announced(self.inbox, topic, msgspec.Raw(msgspec.msgpack.encode(data))))

    def on(self, topic: str, hear: Callable[[Any], None]) -> None:
        """Sets the function that gets the announcements of a topic."""
        self._topics[topic] = hear

    def _hear(self, message: m.Announced) -> None:
        hear = self._topics.get(message.topic)
        if hear is not None:
            try:
                hear(msgspec.msgpack.decode(message.data))
            except Exception:
                _log.exception("News of the node %s could not be handled.", message.sender)
