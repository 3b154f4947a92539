"""Messages between nodes are authenticated, bounded, and accepted once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import pytest

from turnwire.bus.local import LocalBus, LocalNetwork
from turnwire.bus.sealed import VERSION, SealedBus
from turnwire.ports import Receive

SECRET = b"a secret of the nodes"


class Wire:
    """A bus that keeps what is sent, and is given what is received."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.receive: Receive = lambda data: None
        self.most_bytes = 2000
        self.is_connected = True
        self.dropped: Mapping[str, int] = {}

    async def open(
        self, inbox: str, receive: Receive, *, reconnected: Callable[[], None] | None = None
    ) -> None:
        self.receive = receive

    def send(self, inbox: str, data: bytes) -> None:
        self.sent.append(data)

    def broadcast(self, data: bytes) -> None:
        self.sent.append(data)

    async def close(self) -> None:
        self.is_connected = False


class Node:
    """A sealed bus on a wire, with what it has received."""

    def __init__(self, inbox: str, **options: object) -> None:
        self.wire = Wire()
        self.inbox = inbox
        self.received: list[bytes] = []
        secret = options.pop("secret", SECRET)
        self.bus = SealedBus(self.wire, secret, **options)  # type: ignore[arg-type]

    async def open(self) -> Node:
        await self.bus.open(self.inbox, self.received.append)
        return self

    def sealed(self, to: str | None, data: bytes) -> bytes:
        """Returns a message of this node as it is on the wire."""
        if to is None:
            self.bus.broadcast(data)
        else:
            self.bus.send(to, data)
        return self.wire.sent.pop()


async def pair(**options: object) -> tuple[Node, Node]:
    return await Node("a", **options).open(), await Node("b").open()


async def test_a_sealed_message_is_received_once() -> None:
    a, b = await pair()
    for message in (a.sealed("b", b"one"), a.sealed(None, b"two")):
        b.wire.receive(message)
        b.wire.receive(message)
    assert b.received == [b"one", b"two"]
    assert b.bus.dropped == {"replayed": 2}


async def test_a_lost_message_is_skipped_and_comes_too_late_afterwards() -> None:
    a, b = await pair()
    first, second, third = (a.sealed("b", b"%d" % number) for number in range(3))
    for message in (first, third, second):
        b.wire.receive(message)
    assert b.received == [b"0", b"2"]
    assert b.bus.dropped == {"replayed": 1}


async def test_each_sender_has_its_own_counter() -> None:
    a, b = await pair()
    c = await Node("c").open()
    later = c.sealed("b", b"of c")
    b.wire.receive(a.sealed("b", b"of a"))
    b.wire.receive(later)
    assert b.received == [b"of a", b"of c"]


@pytest.mark.parametrize("place", [1, 2, 9, 10, 11, 12, 43, 44, -1])
async def test_a_changed_message_is_dropped(place: int) -> None:
    a, b = await pair()
    message = bytearray(a.sealed("b", b"data"))
    message[place] ^= 1
    b.wire.receive(bytes(message))
    assert b.received == []
    assert sum(b.bus.dropped.values()) == 1


async def test_every_beginning_of_a_message_is_dropped() -> None:
    a, b = await pair()
    message = a.sealed("b", b"data")
    for length in range(len(message)):
        b.wire.receive(message[:length])
    assert b.received == []
    assert b.bus.dropped == {"malformed": 44, "seal": 4}


@pytest.mark.parametrize("options", [{"secret": b"another secret of nodes"}, {"cluster": "other"}])
async def test_another_secret_or_another_cluster_is_dropped(options: dict[str, object]) -> None:
    a, b = await pair(**options)
    b.wire.receive(a.sealed("b", b"data"))
    assert b.received == []
    assert b.bus.dropped == {"seal": 1}


async def test_a_message_for_another_node_is_dropped() -> None:
    a, b = await pair()
    b.wire.receive(a.sealed("c", b"data"))
    assert b.bus.dropped == {"seal": 1}


async def test_a_broadcast_that_is_sent_back_to_its_sender_is_dropped() -> None:
    a, _ = await pair()
    a.wire.receive(a.sealed(None, b"data"))
    assert a.received == []
    assert a.bus.dropped == {"replayed": 1}


async def test_another_version_is_dropped() -> None:
    a, b = await pair()
    message = a.sealed("b", b"data")
    b.wire.receive(bytes([VERSION + 1]) + message[1:])
    assert b.bus.dropped == {"version": 1}


async def test_a_node_that_starts_again_under_its_old_name_is_heard() -> None:
    a, b = await pair()
    b.wire.receive(a.sealed("b", b"before"))
    b.wire.receive((await Node("a").open()).sealed("b", b"after"))
    assert b.received == [b"before", b"after"]


async def test_a_large_message_is_dropped_by_the_sender_and_by_the_receiver() -> None:
    a, b = await pair(most_bytes=100)
    small = await Node("small", most_bytes=50).open()
    a.bus.send("b", b"x" * 101)
    a.bus.broadcast(b"x" * 101)
    assert a.wire.sent == []
    assert a.bus.dropped == {"too_large": 2}
    b.wire.receive(a.sealed("b", b"x" * 100))
    small.wire.receive(a.sealed("small", b"x" * 100))
    assert b.received == [b"x" * 100]
    assert small.bus.dropped == {"too_large": 1}


async def test_the_seal_fits_into_the_largest_message_of_the_bus_below() -> None:
    a, b = await pair()
    message = a.sealed("b", b"x" * a.bus.most_bytes)
    assert len(message) == a.wire.most_bytes
    b.wire.receive(message)
    assert b.received == [b"x" * a.bus.most_bytes]


async def test_dropped_messages_of_the_bus_below_are_counted_as_well() -> None:
    a, _ = await pair()
    a.wire.dropped = {"buffer_full": 3}
    a.wire.receive(b"")
    assert a.bus.dropped == {"buffer_full": 3, "malformed": 1}


async def test_dropped_messages_are_logged_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    b = await Node("b", seconds=lambda: now).open()
    with caplog.at_level(logging.WARNING, "turnwire.bus"):
        for _ in range(5):
            b.wire.receive(b"\x07")
        now = 61.0
        b.wire.receive(b"")
    assert caplog.messages == [
        "Messages between nodes were dropped (version: 1)",
        "Messages between nodes were dropped (malformed: 1, version: 4)",
    ]


async def test_the_number_of_remembered_senders_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwire.bus.sealed._MOST_SENDERS", 3)
    b = await Node("b").open()
    senders = [await Node(f"sender {number}").open() for number in range(5)]
    for sender in senders:
        b.wire.receive(sender.sealed("b", b"x"))
        b.wire.receive(senders[0].sealed("b", b"x"))
    assert list(b.bus._heard) == [b"sender 3", b"sender 4", b"sender 0"]


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 16 bytes"):
        SealedBus(LocalBus(LocalNetwork()), b"short")


async def test_the_name_of_an_inbox_is_bounded() -> None:
    with pytest.raises(ValueError, match="1 to 255 bytes"):
        await Node("x" * 256).open()
