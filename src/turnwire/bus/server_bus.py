"""What the buses on a server have in common: one connection, restored when it is lost.

A task connects, and sends what waits in the outbox. It also probes the connection: at intervals a
node sends an empty message to its own inbox. If the message does not come back in time, the
connection is closed and made again. So a connection that is dead in one direction is found as well.
"""

from __future__ import annotations

import asyncio
import logging
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from secrets import token_bytes
from typing import Any, Protocol, TypeAlias

from turnwire.bus.address import BusAddress
from turnwire.bus.delivery import deliver
from turnwire.errors import TurnwireError
from turnwire.ports.bus import Receive

__all__ = ["ID_BYTES", "BusRefused", "Link", "Outgoing", "ServerBus"]

log = logging.getLogger("turnwire.bus")

# A message in the outbox: the inbox of its receiver, None for all nodes; and its data.
Outgoing: TypeAlias = tuple[str | None, bytes]

ID_BYTES = 8

_PROBE = b""
_CONNECT_SECONDS = 10.0
_FLUSH_SECONDS = 1.0
_CANCEL_SECONDS = 0.5
_FIRST_DELAY, _LONGEST_DELAY, _MOST_DOUBLINGS = 0.1, 10.0, 7


class BusRefused(TurnwireError):
    """Raised if the server refuses the node for a reason that waiting does not change."""

    code = "INVALID_SETTING"


class Link(Protocol):
    """One connection to a server, subscribed to the inbox of the node and to the broadcasts."""

    async def write(self, messages: list[Outgoing]) -> None:
        """Gives messages to the server, in order. Raises if the connection is lost."""

    async def lost(self) -> None:
        """Returns when the connection is lost, or raises the reason."""

    async def close(self) -> None:
        """Closes the connection. Does not raise."""


class ServerBus(ABC):
    """A bus on a server. A subclass connects."""

    # Why probes may not come back, for the message of BusRefused.
    deaf_reason = ""

    def __init__(
        self,
        address: BusAddress,
        *,
        most_bytes: int = 2 * 1024 * 1024,
        most_waiting: int = 16 * 1024 * 1024,
        probe_seconds: float = 10.0,
    ) -> None:
        """`most_waiting` bounds the bytes that wait for a slow connection.

        Every `probe_seconds` the connection is probed; the answer has the same time to come.
        """
        self._address = address
        self._most_bytes = most_bytes
        self._most_waiting = most_waiting
        self._probe_seconds = probe_seconds
        self._outbox: list[Outgoing] = []
        self._outbox_bytes = 0
        self._awaited: asyncio.Future[None] | None = None  # by the writer: the next message
        self._probe_heard = asyncio.Event()
        self._dropped: Counter[str] = Counter()
        self._inbox = ""
        self._receive: Receive | None = None
        self._reconnected: Callable[[], None] | None = None
        self._is_connected = False
        self._connections = 0  # how many were made
        self._task: asyncio.Task[None] | None = None
        self._own_id = token_bytes(ID_BYTES)

    @abstractmethod
    async def _connect(self, inbox: str) -> Link:
        """Connects and subscribes.

        Each message is given to `heard`, also the probes, or to `heard_all` if it is `marked`.

        Raises BusRefused if another attempt would be refused as well, otherwise any exception.
        """

    # --- the port -------------------------------------------------------------------------------

    @property
    def most_bytes(self) -> int:
        """Maximum size of a message."""
        return self._most_bytes

    @property
    def is_connected(self) -> bool:
        """Whether the connection to the server is believed to work."""
        return self._is_connected

    @property
    def dropped(self) -> Mapping[str, int]:
        """The number of dropped messages: not_connected, too_large, buffer_full, incomplete."""
        return self._dropped

    async def open(
        self, inbox: str, receive: Receive, *, reconnected: Callable[[], None] | None = None
    ) -> None:
        """Connects, or begins to. Raises BusRefused, for example for a wrong password."""
        self._inbox, self._receive, self._reconnected = inbox, receive, reconnected
        first = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(first), name="turnwire bus")
        try:
            await first
        except BaseException:
            await self.close()
            raise

    def send(self, inbox: str, data: bytes) -> None:
        """Puts a message for one node into the outbox."""
        self._put(inbox, data)

    def broadcast(self, data: bytes) -> None:
        """Puts a message for all other nodes into the outbox."""
        self._put(None, data)

    async def close(self) -> None:
        """Sends what waits, for at most a second, and disconnects."""
        task, self._task = self._task, None
        if task is not None:
            if self._is_connected:
                await self._probe(_FLUSH_SECONDS)
            await _cancelled(task)
        self._receive = None

    # --- sending --------------------------------------------------------------------------------

    def _put(self, inbox: str | None, data: bytes) -> None:
        if not self._is_connected or self._task is None:
            self._dropped["not_connected"] += 1
        elif len(data) > self.most_bytes:
            self._dropped["too_large"] += 1
        elif self._outbox_bytes + len(data) > self._most_waiting:
            self._dropped["buffer_full"] += 1
        else:
            self._append(inbox, data)

    def _append(self, inbox: str | None, data: bytes) -> None:
        self._outbox.append((inbox, data))
        self._outbox_bytes += len(data)
        if self._awaited is not None and not self._awaited.done():
            self._awaited.set_result(None)

    async def _write(self, link: Link) -> None:
        """Sends what is in the outbox. Messages that come meanwhile are sent together."""
        new_future = asyncio.get_running_loop().create_future
        while True:
            if not self._outbox:
                self._awaited = new_future()  # an Event costs as much as the rest of this loop
                await self._awaited
            messages, self._outbox, self._outbox_bytes = self._outbox, [], 0
            await link.write(messages)

    def marked(self, data: bytes) -> bytes:
        """Returns a broadcast with the id of this bus, by which it is recognized when it returns."""
        return self._own_id + data

    # --- receiving ------------------------------------------------------------------------------

    def heard(self, data: bytes) -> None:
        if not data:
            self._probe_heard.set()
        elif self._receive is not None:
            deliver(self._receive, data)

    def heard_all(self, data: bytes) -> None:
        """Takes a broadcast that was sent as `marked`."""
        if not data.startswith(self._own_id):
            self.heard(data[ID_BYTES:])

    # --- the connection -------------------------------------------------------------------------

    async def _run(self, first: asyncio.Future[None]) -> None:
        """Connects again and again, until the task is cancelled or the first attempt is refused."""
        attempts = 0
        loop = asyncio.get_running_loop()
        while True:
            began, was_connected = loop.time(), self._connections
            reason = "the server closed the connection"
            try:
                await self._hold(first)
            except BusRefused as refused:
                if not first.done():
                    first.set_exception(refused)
                    return
                reason = refused.message
            except Exception as failure:
                reason = self._address.without_secrets(str(failure) or type(failure).__name__)
            is_lost = self._connections > was_connected
            if is_lost or not first.done():
                log.warning("The bus %s is not connected: %s", self._address, reason)
            if not first.done():
                first.set_result(None)
            if is_lost and loop.time() - began > _LONGEST_DELAY:
                attempts = 0
            delay = min(_LONGEST_DELAY, _FIRST_DELAY * 2**attempts)
            attempts = min(attempts + 1, _MOST_DOUBLINGS)
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))

    async def _hold(self, first: asyncio.Future[None]) -> None:
        """Connects, and returns or raises when the connection is lost."""
        async with asyncio.timeout(_CONNECT_SECONDS):
            link = await self._connect(self._inbox)
        tasks: list[asyncio.Task[None]] = []
        try:
            tasks += (asyncio.create_task(link.lost()), asyncio.create_task(self._write(link)))
            tasks.append(asyncio.create_task(self._checked(first)))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._is_connected = False
            self._dropped["not_connected"] += sum(bool(data) for _, data in self._outbox)
            self._outbox, self._outbox_bytes = [], 0
            await _completed(_ended(tasks, link))

    async def _checked(self, first: asyncio.Future[None]) -> None:
        """Probes the connection. Raises if a probe does not come back."""
        if not await self._probe(self._probe_seconds):
            raise BusRefused(
                f"The bus {self._address} does not deliver: a message that this node sent to"
                f" itself did not arrive. {self.deaf_reason}".strip()
            )
        self._is_connected = True
        self._connections += 1
        if not first.done():
            first.set_result(None)
        else:
            log.warning("The bus %s is connected again", self._address)
            if self._reconnected is not None:
                self._reconnected()
        while True:
            await asyncio.sleep(self._probe_seconds)
            if not await self._probe(self._probe_seconds):
                raise TimeoutError("the server does not answer")

    async def _probe(self, seconds: float) -> bool:
        """Sends an empty message to this node. Returns whether it came back in time."""
        self._probe_heard.clear()
        self._append(self._inbox, _PROBE)
        try:
            await asyncio.wait_for(self._probe_heard.wait(), seconds)
        except TimeoutError:
            return False
        return True


async def _ended(tasks: list[asyncio.Task[None]], link: Link) -> None:
    await _cancelled(*tasks)
    await link.close()


async def _cancelled(*tasks: asyncio.Task[None]) -> None:
    """Cancels tasks until they have ended: a driver may swallow a cancellation."""
    waiting: set[asyncio.Task[None]] = {*tasks}
    while waiting:
        for task in waiting:
            task.cancel()
        _, waiting = await asyncio.wait(waiting, timeout=_CANCEL_SECONDS)


async def _completed(work: Coroutine[Any, Any, None]) -> None:
    """Completes some work even if the current task is cancelled meanwhile."""
    task = asyncio.create_task(work)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError
