"""A bus whose messages are authenticated: only nodes with the same secret are heard.

A message on the transport:

| bytes | content |
|---|---|
| 1 | version of this format |
| 1 | 0: to one node, 1: to all nodes |
| 8 | counter of the sender, big-endian |
| 1 | length of the sender's inbox |
| n | the sender's inbox, UTF-8 |
| 32 | seal |
| rest | the data |

The seal is keyed BLAKE2b over everything else and the inbox of the receiver. Its key is derived
from the secret and the name of the cluster. So a message cannot be changed, sent to another node,
or sent in another cluster.

The counter of a sender only rises. A receiver drops a message whose counter is not above the last
one of this sender: a repeated message, a recorded one, or one that was overtaken. A gap is
allowed, as messages may be lost.

A limit of this: a node that has just started has heard no counter yet. It accepts one recorded
broadcast of a sender until it hears a newer message of it. Broadcasts must be harmless if repeated.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import struct
import time
from collections import Counter
from collections.abc import Callable, Mapping

from turnwire.bus.delivery import deliver
from turnwire.ports.bus import Bus, Receive

__all__ = ["VERSION", "SealedBus"]

log = logging.getLogger("turnwire.bus")

VERSION = 1
_TO_ONE, _TO_ALL = 0, 1
_HEAD = struct.Struct(">BBQB")
_SEAL_BYTES = 32
_MOST_INBOX = 255
_SHORTEST_SECRET = 16
_MOST_SENDERS = 4096  # incarnations that are remembered
_LOG_SECONDS = 60.0


class SealedBus:
    """Seals the messages of another bus, and drops messages that are not sealed correctly."""

    def __init__(
        self,
        bus: Bus,
        secret: bytes,
        *,
        cluster: str = "main",
        most_bytes: int = 1024 * 1024 + 64 * 1024,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """`secret` has at least 16 bytes. `most_bytes` bounds the data of a message: by default a
        frame of a client of the largest size, and what is sent with it to its owner.

        `seconds` is the clock that limits the log messages.
        """
        if len(secret) < _SHORTEST_SECRET:
            raise ValueError(f"the secret of the nodes needs at least {_SHORTEST_SECRET} bytes")
        self._bus = bus
        key = hashlib.blake2b(secret, person=b"turnwire bus").digest()
        self._key = hashlib.blake2b(cluster.encode(), key=key).digest()
        self._most_bytes = most_bytes
        self._seconds = seconds
        self._inbox = b""
        self._receive: Receive | None = None
        # Above the counters of an earlier node, should it have had the same inbox.
        self._counter = time.time_ns()
        self._heard: dict[bytes, int] = {}
        self._dropped: Counter[str] = Counter()
        self._logged: Counter[str] = Counter()
        self._log_again = float("-inf")

    # --- the port -------------------------------------------------------------------------------

    @property
    def most_bytes(self) -> int:
        """Maximum size of a message without its seal."""
        return min(self._most_bytes, self._bus.most_bytes - self._overhead)

    @property
    def is_connected(self) -> bool:
        """Whether the bus below is connected."""
        return self._bus.is_connected

    @property
    def dropped(self) -> Mapping[str, int]:
        """The number of dropped messages, by reason.

        Of this layer: too_large, malformed, version, seal, replayed. The rest is from the bus below.
        """
        return self._dropped + Counter(self._bus.dropped)

    async def open(
        self, inbox: str, receive: Receive, *, reconnected: Callable[[], None] | None = None
    ) -> None:
        """Opens the bus below. Raises ValueError if the name of the inbox is too long."""
        name = inbox.encode()
        if not 0 < len(name) <= _MOST_INBOX:
            raise ValueError(f"the name of an inbox has 1 to {_MOST_INBOX} bytes")
        self._inbox, self._receive = name, receive
        await self._bus.open(inbox, self._heard_message, reconnected=reconnected)

    def send(self, inbox: str, data: bytes) -> None:
        """Sends a sealed message to the node with this inbox."""
        if self._fits(data):
            self._bus.send(inbox, self._sealed(_TO_ONE, inbox.encode(), data))

    def broadcast(self, data: bytes) -> None:
        """Sends a sealed message to all other nodes."""
        if self._fits(data):
            self._bus.broadcast(self._sealed(_TO_ALL, b"", data))

    async def close(self) -> None:
        """Closes the bus below."""
        self._receive = None
        await self._bus.close()

    # --- sealing --------------------------------------------------------------------------------

    @property
    def _overhead(self) -> int:
        return _HEAD.size + len(self._inbox) + _SEAL_BYTES

    def _fits(self, data: bytes) -> bool:
        if len(data) > self.most_bytes:
            self._drop("too_large")
            return False
        return True

    def _sealed(self, kind: int, receiver: bytes, data: bytes) -> bytes:
        self._counter += 1
        head = _HEAD.pack(VERSION, kind, self._counter, len(self._inbox)) + self._inbox
        return b"".join((head, self._seal(head, receiver, data), data))

    def _seal(self, head: bytes | memoryview, receiver: bytes, data: bytes | memoryview) -> bytes:
        seal = hashlib.blake2b(head, key=self._key, digest_size=_SEAL_BYTES)
        # The length keeps the name of the receiver and the data apart.
        seal.update(b"%d:%b" % (len(receiver), receiver))
        seal.update(data)
        return seal.digest()

    # --- receiving ------------------------------------------------------------------------------

    def _heard_message(self, message: bytes) -> None:
        data = self._opened(message)
        if isinstance(data, str):
            self._drop(data)
        elif self._receive is not None:
            deliver(self._receive, data)

    def _opened(self, message: bytes) -> bytes | str:
        """Returns the data of a message, or the reason why it is dropped."""
        if not message or message[0] != VERSION:
            return "version" if message else "malformed"
        if len(message) < _HEAD.size:
            return "malformed"
        _, kind, counter, length = _HEAD.unpack_from(message)
        head_end = _HEAD.size + length
        begin = head_end + _SEAL_BYTES
        if len(message) < begin or kind not in (_TO_ONE, _TO_ALL):
            return "malformed"
        if len(message) - begin > self._most_bytes:
            return "too_large"
        parts = memoryview(message)
        receiver = self._inbox if kind == _TO_ONE else b""
        seal = self._seal(parts[:head_end], receiver, parts[begin:])
        if not hmac.compare_digest(seal, parts[head_end:begin]):
            return "seal"
        sender = message[_HEAD.size : head_end]
        if not self._is_new(sender, counter) or (kind == _TO_ALL and sender == self._inbox):
            return "replayed"
        return message[begin:]

    def _is_new(self, sender: bytes, counter: int) -> bool:
        """Returns whether the counter has risen, and remembers it."""
        last = self._heard.pop(sender, -1)
        # Put at the end: the first sender is the one that was silent for the longest time.
        self._heard[sender] = max(last, counter)
        if len(self._heard) > _MOST_SENDERS:
            del self._heard[next(iter(self._heard))]
        return counter > last

    def _drop(self, reason: str) -> None:
        """Counts a dropped message, and logs the new ones at most once a minute."""
        self._dropped[reason] += 1
        now = self._seconds()
        if now < self._log_again:
            return
        self._log_again = now + _LOG_SECONDS
        new = self._dropped - self._logged
        self._logged = self._dropped.copy()
        counts = ", ".join(f"{reason}: {count}" for reason, count in sorted(new.items()))
        log.warning("Messages between nodes were dropped (%s)", counts)
