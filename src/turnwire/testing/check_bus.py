"""Checks that a bus between nodes implements its port, `Bus`, correctly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias
from uuid import uuid4

from turnwire.ports import Bus
from turnwire.testing.expect import Broken, expect

__all__ = ["BUS_CHECKS", "BusBroken", "BusCheck", "CheckedNode", "MakeBus", "Nodes", "check_bus"]

MakeBus: TypeAlias = Callable[[], Bus]
Cut: TypeAlias = Callable[[], Awaitable[None]]

_MANY = 200
_LAST = b"last"


class BusBroken(AssertionError):
    """Raised if checks fail. The message names each failed check."""


class CheckedNode:
    """A node with the messages that it has received."""

    def __init__(self, bus: Bus, inbox: str, tag: bytes) -> None:
        self.bus = bus
        self.inbox = inbox
        self.received: list[bytes] = []
        self.reconnects = 0
        self.is_sending = False
        self.was_called_while_sending = False
        self._tag = tag

    def send(self, to: CheckedNode, data: bytes) -> None:
        self.is_sending = True
        self.bus.send(to.inbox, self._tag + data)
        self.is_sending = False

    def broadcast(self, data: bytes) -> None:
        self.is_sending = True
        self.bus.broadcast(self._tag + data)
        self.is_sending = False

    def receive(self, message: bytes) -> None:
        self.was_called_while_sending |= self.is_sending
        # Late broadcasts of an earlier check have another tag.
        if message.startswith(self._tag):
            self.received.append(message[len(self._tag) :])

    def reconnected(self) -> None:
        self.reconnects += 1


class Nodes:
    """Makes the nodes of one check."""

    def __init__(self, make: MakeBus, patience: float) -> None:
        self._make = make
        self.patience = patience
        self.tag = uuid4().bytes
        self.made: list[CheckedNode] = []

    def new(self) -> CheckedNode:
        """Returns a node that is not open yet."""
        node = CheckedNode(self._make(), uuid4().hex, self.tag)
        self.made.append(node)
        return node

    async def opened(self) -> CheckedNode:
        """Returns a node that is connected."""
        node = self.new()
        await self.open(node)
        return node

    async def open(self, node: CheckedNode) -> None:
        await asyncio.wait_for(
            node.bus.open(node.inbox, node.receive, reconnected=node.reconnected), self.patience
        )

    async def until(self, is_true: Callable[[], bool], promise: str) -> None:
        """Waits until a condition is true. Raises Broken after `patience` seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.patience
        while not is_true():
            expect(loop.time() < end, f"{promise} within {self.patience:g} seconds")
            await asyncio.sleep(0.001)

    async def arrives(
        self, sender: CheckedNode, receiver: CheckedNode, data: bytes = _LAST
    ) -> None:
        """Sends a message again and again, as each may be lost, until one arrives."""
        await self.repeat(lambda: sender.send(receiver, data), lambda: data in receiver.received)

    async def repeat(self, send: Callable[[], None], is_true: Callable[[], bool]) -> None:
        """Sends again, at growing intervals, until a condition is true."""
        loop = asyncio.get_running_loop()
        end, next_time, delay = loop.time() + self.patience, 0.0, 0.02
        while not is_true():
            if loop.time() >= next_time:
                send()
                next_time = loop.time() + delay
                delay = min(2 * delay, self.patience / 20)
            expect(loop.time() < end, f"a message arrives within {self.patience:g} seconds")
            await asyncio.sleep(0.001)


BusCheck: TypeAlias = Callable[[Nodes], Awaitable[None]]


async def check_bus(make: MakeBus, *, cut: Cut | None = None, patience: float = 10.0) -> None:
    """Runs every check. Raises BusBroken if a check fails.

    `make` returns a new bus that is not open; all of them are of one cluster. `cut` ends the
    connections of all nodes, for example by a restart of the server; without it reconnecting is not
    checked. A check waits `patience` seconds for a message. A lost message is no failure, as long
    as one of several arrives.
    """
    checks = [*BUS_CHECKS]
    if cut is not None:
        checks.append(_reconnect_check(cut))
    failures = []
    for check in checks:
        try:
            async with _nodes(make, patience) as nodes:
                await check(nodes)
        except Broken as broken:
            failures.append(f"{_name(check)}: {broken}")
        except Exception as error:
            failures.append(f"{_name(check)}: raised {error!r}")
    if failures:
        raise BusBroken(f"{len(failures)} of {len(checks)} checks failed:\n" + "\n".join(failures))


@asynccontextmanager
async def _nodes(make: MakeBus, patience: float) -> AsyncIterator[Nodes]:
    nodes = Nodes(make, patience)
    try:
        yield nodes
    finally:
        await asyncio.gather(*(node.bus.close() for node in nodes.made))


# --- the checks -----------------------------------------------------------------------------------


async def messages_of_a_sender_arrive_in_order_and_once(nodes: Nodes) -> None:
    sender, receiver = await nodes.opened(), await nodes.opened()
    for number in range(_MANY):
        if number % 3:
            sender.send(receiver, b"%d" % number)
        else:
            sender.broadcast(b"%d" % number)
        if number % 20 == 0:
            await asyncio.sleep(0)
    await nodes.arrives(sender, receiver)
    _expect_order(receiver)


async def many_senders_reach_one_receiver_each_in_order(nodes: Nodes) -> None:
    receiver, *senders = [await nodes.opened() for _ in range(6)]
    for number in range(_MANY // 4):
        for who, sender in enumerate(senders):
            sender.send(receiver, b"%d %d" % (who, number))
        await asyncio.sleep(0)
    for who, sender in enumerate(senders):
        await nodes.arrives(sender, receiver, b"%d end" % who)
    for who in range(len(senders)):
        _expect_order(receiver, b"%d " % who)


async def a_message_reaches_only_its_inbox(nodes: Nodes) -> None:
    sender, receiver, other = [await nodes.opened() for _ in range(3)]
    await nodes.arrives(sender, receiver, b"for one")
    await nodes.arrives(sender, other)
    expect(b"for one" not in other.received, "a message reaches only the inbox that it is sent to")


async def a_broadcast_reaches_all_other_nodes_and_not_its_sender(nodes: Nodes) -> None:
    sender, first, second = [await nodes.opened() for _ in range(3)]
    await nodes.repeat(
        lambda: sender.broadcast(b"all"), lambda: bool(first.received and second.received)
    )
    await nodes.arrives(first, sender)
    expect({*sender.received} == {_LAST}, "a node does not receive its own broadcasts")


async def every_byte_arrives_as_it_was_sent(nodes: Nodes) -> None:
    sender, receiver = await nodes.opened(), await nodes.opened()
    await nodes.arrives(sender, receiver, bytes(range(256)))
    await nodes.arrives(sender, receiver, b"\0")


async def a_message_of_the_maximum_size_arrives_and_a_larger_one_is_dropped(nodes: Nodes) -> None:
    sender, receiver = await nodes.opened(), await nodes.opened()
    most = sender.bus.most_bytes - len(nodes.tag)
    largest = (bytes(range(251)) * (most // 251 + 1))[:most]
    before = sum(sender.bus.dropped.values())
    sender.send(receiver, largest + b"!")
    sender.broadcast(largest + b"!")
    dropped = sum(sender.bus.dropped.values()) - before
    expect(
        dropped == 2, f"each message that is too large is counted as dropped; counted: {dropped}"
    )
    await nodes.arrives(sender, receiver, largest)
    await nodes.arrives(sender, receiver)
    expect(
        all(len(message) <= most for message in receiver.received),
        "a message above the maximum size does not arrive",
    )


async def a_message_to_an_unknown_inbox_changes_nothing(nodes: Nodes) -> None:
    sender, receiver = await nodes.opened(), await nodes.opened()
    sender.send(nodes.new(), b"lost")
    await nodes.arrives(sender, receiver)
    expect(b"lost" not in receiver.received, "a message for an unknown inbox reaches no node")


async def a_receiver_that_raises_receives_the_next_message(nodes: Nodes) -> None:
    sender, receiver = await nodes.opened(), nodes.new()
    was_raised = False

    def receive(message: bytes) -> None:
        nonlocal was_raised
        if message.endswith(b"raise"):
            was_raised = True
            raise RuntimeError("raised by a check")
        receiver.receive(message)

    await receiver.bus.open(receiver.inbox, receive)
    await nodes.repeat(lambda: sender.send(receiver, b"raise"), lambda: was_raised)
    await nodes.arrives(sender, receiver)


async def a_receiver_is_not_called_within_send(nodes: Nodes) -> None:
    first, second = await nodes.opened(), await nodes.opened()
    await nodes.arrives(first, second)
    await nodes.arrives(second, first)
    first.broadcast(b"all")
    expect(
        not first.was_called_while_sending and not second.was_called_while_sending,
        "`receive` is never called within `send` or `broadcast`",
    )


async def a_receiver_may_send(nodes: Nodes) -> None:
    first, second = await nodes.opened(), nodes.new()

    def answer(message: bytes) -> None:
        second.receive(message)
        second.send(first, b"answer")

    await second.bus.open(second.inbox, answer)
    await nodes.repeat(lambda: first.send(second, b"?"), lambda: b"answer" in first.received)


async def a_closed_bus_sends_and_receives_nothing(nodes: Nodes) -> None:
    unopened, sender, receiver, other = nodes.new(), *[await nodes.opened() for _ in range(3)]
    expect(not unopened.bus.is_connected, "a bus that is not open is not connected")
    unopened.send(receiver, b"too early")  # must not raise
    unopened.broadcast(b"too early")
    expect(sender.bus.is_connected, "an open bus is connected")
    await nodes.arrives(sender, receiver)
    await receiver.bus.close()
    await receiver.bus.close()  # a second call must not raise
    expect(not receiver.bus.is_connected, "a closed bus is not connected")
    before = len(receiver.received)
    sender.send(receiver, b"too late")
    receiver.send(other, b"too late")
    receiver.broadcast(b"too late")
    await nodes.arrives(sender, other)
    expect(len(receiver.received) == before, "a closed bus receives nothing")
    early_or_late = {b"too early", b"too late"} & {*sender.received, *other.received}
    expect(not early_or_late, "a bus sends nothing before it is opened and after it was closed")


async def a_node_that_opens_later_is_reached(nodes: Nodes) -> None:
    sender = await nodes.opened()
    sender.broadcast(b"early")
    later = nodes.new()
    sender.send(later, b"early")
    await nodes.open(later)
    await nodes.arrives(sender, later)
    await nodes.arrives(later, sender)


BUS_CHECKS: tuple[BusCheck, ...] = (
    messages_of_a_sender_arrive_in_order_and_once,
    many_senders_reach_one_receiver_each_in_order,
    a_message_reaches_only_its_inbox,
    a_broadcast_reaches_all_other_nodes_and_not_its_sender,
    every_byte_arrives_as_it_was_sent,
    a_message_of_the_maximum_size_arrives_and_a_larger_one_is_dropped,
    a_message_to_an_unknown_inbox_changes_nothing,
    a_receiver_that_raises_receives_the_next_message,
    a_receiver_is_not_called_within_send,
    a_receiver_may_send,
    a_closed_bus_sends_and_receives_nothing,
    a_node_that_opens_later_is_reached,
)


def _reconnect_check(cut: Cut) -> BusCheck:
    async def messages_arrive_again_after_the_connections_were_cut(nodes: Nodes) -> None:
        sender, receiver = await nodes.opened(), await nodes.opened()
        await nodes.arrives(sender, receiver, b"before")
        await cut()
        for number in range(_MANY):  # must not raise, connected or not
            sender.send(receiver, b"%d" % (2 * number))
            sender.broadcast(b"%d" % (2 * number + 1))
        await nodes.arrives(sender, receiver)
        await nodes.arrives(receiver, sender)
        await nodes.until(
            lambda: bool(sender.reconnects and receiver.reconnects),
            "`reconnected` is called after a connection was restored",
        )
        _expect_order(receiver)

    return messages_arrive_again_after_the_connections_were_cut


def _expect_order(node: CheckedNode, prefix: bytes = b"") -> None:
    numbers = [
        int(message[len(prefix) :])
        for message in node.received
        if message.startswith(prefix) and message[len(prefix) :].isdigit()
    ]
    in_order = sorted({*numbers})
    expect(numbers == in_order, f"messages come in order, and once; received: {numbers}")


def _name(check: BusCheck) -> str:
    return getattr(check, "__name__", str(check)).replace("_", " ")
