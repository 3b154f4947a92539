"""A bus between several engines of one process and one event loop."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping

from turnwire.bus.delivery import deliver
from turnwire.ports.bus import Receive

__all__ = ["LocalBus", "LocalNetwork"]


class LocalNetwork:
    """The nodes of this process. `LocalBus(network)` is the bus of one of them."""

    def __init__(self) -> None:
        self.nodes: dict[str, LocalBus] = {}


class LocalBus:
    """The bus of one node in a `LocalNetwork`."""

    def __init__(
        self,
        network: LocalNetwork,
        *,
        most_bytes: int = 8 * 1024 * 1024,
        most_waiting: int = 64 * 1024 * 1024,
    ) -> None:
        """`most_waiting` bounds the bytes that wait for the next round of the event loop."""
        self._network = network
        self._most_waiting = most_waiting
        self._inbox = ""
        self._receive: Receive | None = None
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._dropped: Counter[str] = Counter()
        self._most_bytes = most_bytes

    @property
    def most_bytes(self) -> int:
        """Maximum size of a message."""
        return self._most_bytes

    @property
    def is_connected(self) -> bool:
        """Whether the bus is open."""
        return self._receive is not None

    @property
    def dropped(self) -> Mapping[str, int]:
        """The number of dropped messages, by reason."""
        return self._dropped

    async def open(
        self, inbox: str, receive: Receive, *, reconnected: Callable[[], None] | None = None
    ) -> None:
        """Adds the node to the network."""
        self._inbox, self._receive = inbox, receive
        self._network.nodes[inbox] = self

    def send(self, inbox: str, data: bytes) -> None:
        """Sends a message to the node with this inbox."""
        if not self._may_send(data):
            return
        node = self._network.nodes.get(inbox)
        if node is None:
            self._dropped["unknown_inbox"] += 1
        else:
            node._take(data)

    def broadcast(self, data: bytes) -> None:
        """Sends a message to all other nodes."""
        if not self._may_send(data):
            return
        for node in self._network.nodes.values():
            if node is not self:
                node._take(data)

    async def close(self) -> None:
        """Removes the node from the network."""
        if self._network.nodes.get(self._inbox) is self:
            del self._network.nodes[self._inbox]
        self._receive = None
        self._waiting.clear()
        self._waiting_bytes = 0

    def _may_send(self, data: bytes) -> bool:
        if self._receive is None:
            self._dropped["not_connected"] += 1
        elif len(data) > self._most_bytes:
            self._dropped["too_large"] += 1
        else:
            return True
        return False

    def _take(self, data: bytes) -> None:
        if self._waiting and self._waiting_bytes + len(data) > self._most_waiting:
            self._dropped["buffer_full"] += 1
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._deliver)
        self._waiting.append(data)
        self._waiting_bytes += len(data)

    def _deliver(self) -> None:
        """Delivers what was sent until now; the rest waits for the next round."""
        for _ in range(len(self._waiting)):
            if self._receive is None or not self._waiting:
                return  # a receiver has closed the bus
            data = self._waiting.popleft()
            self._waiting_bytes -= len(data)
            deliver(self._receive, data)
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._deliver)
