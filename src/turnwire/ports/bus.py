"""The node bus port: the interface that carries messages between nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

__all__ = ["Bus", "Receive"]

Receive: TypeAlias = Callable[[bytes], None]


class Bus(Protocol):
    """Carries messages between nodes: to one node, or to all others.

    Each node has one inbox. Its name is new at each start of the node. A message has at least one
    byte.

    - Order: the messages of one sender reach one receiver in the order of the calls. `send` and
      `broadcast` share this order.
    - Once: the bus does not repeat a message. A transport may repeat one after a failure; the
      sealed bus (`turnwire.bus.sealed`) drops repeats.
    - Loss is allowed: a message is lost if the connection is lost, if the receiver is not connected
      or if a buffer is full. The sender does not learn of it.
    - A slow connection does not hold the sender. Its outgoing buffer is bounded; messages beyond
      the bound are dropped.
    - A lost connection is restored in the background, with growing, random delays.
    """

    @property
    def most_bytes(self) -> int:
        """Maximum size of a message. Larger messages are dropped."""

    @property
    def is_connected(self) -> bool:
        """Whether messages can be sent and received now, as far as the node knows."""

    @property
    def dropped(self) -> Mapping[str, int]:
        """The number of messages that this node dropped, by reason."""

    async def open(
        self, inbox: str, receive: Receive, *, reconnected: Callable[[], None] | None = None
    ) -> None:
        """Connects, and receives the messages for `inbox` and the broadcasts of other nodes.

        Messages that are sent after `open` has returned arrive. If the transport does not answer,
        `open` returns as well, and connects in the background. Raises TurnwireError for a reason
        that waiting does not change, such as a wrong password.

        `receive` is called from the event loop, never within `send` or `broadcast`. It must not
        block. An exception of it is logged. `reconnected` is called after a connection was
        restored, or made later than `open` returned: messages may have been lost before.
        """

    def send(self, inbox: str, data: bytes) -> None:
        """Sends a message to the node with this inbox. Never blocks, never raises."""

    def broadcast(self, data: bytes) -> None:
        """Sends a message to all other nodes. Never blocks, never raises."""

    async def close(self) -> None:
        """Sends what waits in the buffer, for a short time, and disconnects. Repeatable."""
