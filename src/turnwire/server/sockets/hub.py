"""All open connections: limits, heartbeats, and closing by user, token or conversation."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from turnwire.core.error_codes import Refused
from turnwire.errors import TurnwireError
from turnwire.server.access.keys import VOID, Keys, Who
from turnwire.server.access.limits import Buckets
from turnwire.server.tcp.connections import address_group
from turnwire.settings import Settings

__all__ = ["Connected", "Hub", "Seat"]

_log = logging.getLogger("turnwire")
_TICK = 1.0  # seconds
_RATE = "(connects_per_second, connects_at_once)"
_RETRY_AFTER = 5  # seconds, if a limit of connections is reached
_PATIENCE = 3.0  # seconds that a client has to read the last frames before the server stops


class Connected(Protocol):
    """One open connection: a WebSocket, or a stream of changes."""

    who: Who
    gone: asyncio.Event  # set when the connection has ended and is cleaned up

    @property
    def conversation_id(self) -> str | None:
        """Returns the conversation that the connection follows, or None."""

    def tick(self) -> None:
        """Checks the connection. Called once a second."""

    def close(self, code: int, error: Refused | None = None) -> None:
        """Closes the connection, with this close code and error."""


class Seat:
    """The reserved place of one connection, from before it is admitted."""

    __slots__ = ("cut_off", "who")

    def __init__(self, who: Who) -> None:
        self.who = who
        self.cut_off: Refused | None = None  # set if the user loses access before `Hub.add`


class Hub:
    """All open connections of one server."""

    def __init__(self, settings: Settings, keys: Keys) -> None:
        self._settings = settings
        self._keys = keys
        self._connections: set[Connected] = set()
        self._coming: set[Seat] = set()  # of connections that are not added yet
        self._taken = 0  # reserved places in all
        self._places: Counter[str] = Counter()  # reserved places by user
        self._strangers: Counter[str] = Counter()  # unauthenticated WebSockets by address
        rate = settings.connects_per_second, settings.connects_at_once
        self._connects = Buckets(*rate)  # by user
        self._refused = Buckets(*rate)  # by address
        self._ticking: asyncio.Task[None] | None = None
        self._stopping = False

    def __len__(self) -> int:
        return len(self._connections)

    @contextmanager
    def place(self, who: Who) -> Iterator[Seat]:
        """Reserves a place for one connection.

        Raises Refused if a limit of connections is reached.
        """
        if self._stopping:
            raise Refused("STORAGE_UNAVAILABLE", "The server is stopping.")
        settings, name = self._settings, who.name
        said = None
        if self._taken >= settings.max_connections:
            said = "This server has too many connections (max_connections)."
        elif self._places[name] >= settings.max_connections_per_user:
            said = "This user has too many connections (max_connections_per_user)."
        if said is not None:
            raise Refused("RATE_LIMITED", said, retry_after=_RETRY_AFTER)
        self._taken += 1
        self._places[name] += 1
        seat = Seat(who)
        self._coming.add(seat)
        try:
            yield seat
        finally:
            self._coming.discard(seat)
            self._taken -= 1
            self._places[name] -= 1
            if not self._places[name]:
                del self._places[name]

    @contextmanager
    def stranger(self, address: str) -> Iterator[None]:
        """Counts an unauthenticated WebSocket. Raises Refused if its address has too many."""
        address = address_group(address)
        if self._strangers[address] >= self._settings.max_waiting_connections_per_address:
            said = (
                "Too many connections at once from this address"
                " (max_waiting_connections_per_address)."
            )
            raise Refused("RATE_LIMITED", said, retry_after=_RETRY_AFTER)
        self._strangers[address] += 1
        try:
            yield
        finally:
            self._strangers[address] -= 1
            if not self._strangers[address]:
                del self._strangers[address]

    def count_connect(self, who: Who) -> None:
        """Counts a WebSocket of a user.

        Raises Refused if the user opens too many in a short time.
        """
        _take(
            self._connects, who.name, f"Too many connections of this user in a short time {_RATE}."
        )

    def count_refused(self, address: str) -> None:
        """Counts a refused WebSocket. Raises Refused if its address has too many in a short time.

        Only refused connections count by address: all users of a proxy may have the same address.
        """
        said = f"Too many refused connections from this address in a short time {_RATE}."
        _take(self._refused, address_group(address), said)

    def add(self, connection: Connected, seat: Seat) -> None:
        """Adds an admitted connection. Closes it at once if its user was cut off meanwhile."""
        self._coming.discard(seat)
        self._connections.add(connection)
        if seat.cut_off is not None:
            connection.close(4502, seat.cut_off)
        elif self._stopping:  # the shutdown began after the place was reserved
            connection.close(4000)
        elif self._ticking is None:
            self._ticking = asyncio.create_task(self._tick(), name="turnwire connections")

    def remove(self, connection: Connected) -> None:
        """Removes a connection that has ended."""
        self._connections.discard(connection)

    def close_all(
        self, code: int, error: Refused | None, that: Callable[[Connected], bool]
    ) -> None:
        """Closes the connections for which `that` returns True."""
        for connection in [each for each in self._connections if that(each)]:
            connection.close(code, error)

    async def stop(self) -> None:
        """Closes all connections for a shutdown, with a code that tells clients to reconnect."""
        self._stopping = True
        if self._ticking is not None:
            self._ticking.cancel()
        waiting = list(self._connections)
        for connection in waiting:
            connection.close(4000)
        if waiting:
            gone = [asyncio.create_task(each.gone.wait()) for each in waiting]
            _, late = await asyncio.wait(gone, timeout=_PATIENCE)
            for task in late:
                task.cancel()

    # --- every second -----------------------------------------------------------------------------

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            for connection in list(self._connections):
                try:
                    connection.tick()
                except Exception:  # a defect of one connection must not stop the others
                    _log.exception("a connection cannot be checked")
            try:
                await self._look_for_revoked()
            except TurnwireError as failure:  # checked again at the next tick
                _log.warning("tokens cannot be checked: %s", failure.message)
            except Exception:
                _log.exception("tokens cannot be checked")

    async def _look_for_revoked(self) -> None:
        """Closes the connections of tokens that are void. Another process may have revoked them."""
        people = [each.who for each in self._connections]
        held = {who.token_id for who in people if not who.is_of_application}
        if not held:
            return
        void = held - await self._keys.good_tokens()
        if void:
            self.cut(void)

    def cut(self, void: set[str]) -> None:
        """Closes the connections that were authenticated with one of these tokens."""
        self.cut_off(lambda who: who.token_id in void, Refused("UNAUTHORIZED", VOID))

    def cut_off(self, that: Callable[[Who], bool], error: Refused) -> None:
        """Closes the connections of these users, also those that are not added yet."""
        for seat in self._coming:
            if that(seat.who):
                seat.cut_off = error
        self.close_all(4502, error, lambda each: that(each.who))


def _take(buckets: Buckets, name: str, said: str) -> None:
    wait = buckets.take(name, asyncio.get_running_loop().time())
    if wait:
        raise Refused("RATE_LIMITED", said, retry_after=round(wait + 0.05, 1))
