"""Everyone who is connected: how many, whether they are still there, and who has to go."""

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
_RETRY_AFTER = 5  # seconds, for those who find no place
_PATIENCE = 3.0  # seconds that a client has to take what was sent before the server goes


class Connected(Protocol):
    """Somebody on a WebSocket, or who listens to what changes."""

    who: Who
    gone: asyncio.Event  # it is over, and nothing of it is left

    @property
    def conversation_id(self) -> str | None:
        """Of those who follow one."""

    def tick(self) -> None:
        """A second has passed."""

    def close(self, code: int, error: Refused | None = None) -> None:
        """They have to go."""


class Seat:
    """The place of one connection, from before it is let in."""

    __slots__ = ("cut_off", "who")

    def __init__(self, who: Who) -> None:
        self.who = who
        self.cut_off: Refused | None = None  # why the user has to go before the connection is added


class Hub:
    """One for each server."""

    def __init__(self, settings: Settings, keys: Keys) -> None:
        self._settings = settings
        self._keys = keys
        self._connections: set[Connected] = set()
        self._coming: set[Seat] = set()  # of connections that are not added yet
        self._taken = 0  # places
        self._places: Counter[str] = Counter()  # of each user
        self._strangers: Counter[str] = Counter()  # of each address
        rate = settings.connects_per_second, settings.connects_at_once
        self._connects = Buckets(*rate)  # of each user
        self._refused = Buckets(*rate)  # of each address
        self._ticking: asyncio.Task[None] | None = None
        self._stopping = False

    def __len__(self) -> int:
        return len(self._connections)

    @contextmanager
    def place(self, who: Who) -> Iterator[Seat]:
        """A place for one connection, held from before it is let in. Raises Refused if none is left."""
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
        """A WebSocket whose user is not known yet. Raises Refused if its address has too many."""
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
        """A user opens a WebSocket. Raises Refused if they have opened too many in a short time."""
        _take(
            self._connects, who.name, f"Too many connections of this user in a short time {_RATE}."
        )

    def count_refused(self, address: str) -> None:
        """A WebSocket of a stranger is refused. Raises Refused if that happens too often there.

        Only strangers are counted by address: behind a proxy all users may have the same one.
        """
        said = f"Too many refused connections from this address in a short time {_RATE}."
        _take(self._refused, address_group(address), said)

    def add(self, connection: Connected, seat: Seat) -> None:
        """A connection is let in."""
        self._coming.discard(seat)
        self._connections.add(connection)
        if seat.cut_off is not None:
            connection.close(4502, seat.cut_off)
        elif self._stopping:  # since they were given it
            connection.close(4000)
        elif self._ticking is None:
            self._ticking = asyncio.create_task(self._tick(), name="turnwire connections")

    def remove(self, connection: Connected) -> None:
        """They have gone."""
        self._connections.discard(connection)

    def close_all(
        self, code: int, error: Refused | None, that: Callable[[Connected], bool]
    ) -> None:
        """Close those that fit."""
        for connection in [each for each in self._connections if that(each)]:
            connection.close(code, error)

    async def stop(self) -> None:
        """The server stops: everyone is told to come again."""
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
                except Exception:  # a defect of one must not silence the others
                    _log.exception("a connection cannot be looked after")
            try:
                await self._look_for_revoked()
            except TurnwireError as failure:  # the next look may see more
                _log.warning("tokens cannot be looked at: %s", failure.message)
            except Exception:
                _log.exception("tokens cannot be looked at")

    async def _look_for_revoked(self) -> None:
        """Tokens may be revoked in another process, so that they have to be looked at."""
        held = {each.who.token_id for each in self._connections}
        held = {token_id for token_id in held if ":" not in token_id}  # of an application's user
        if not held:
            return
        void = held - await self._keys.good_tokens()
        if void:
            self.cut(void)

    def cut(self, void: set[str]) -> None:
        """Close those that came in with one of these tokens."""
        self.cut_off(lambda who: who.token_id in void, Refused("UNAUTHORIZED", VOID))

    def cut_off(self, that: Callable[[Who], bool], error: Refused) -> None:
        """Close the connections of these users, also those that are just being let in."""
        for seat in self._coming:
            if that(seat.who):
                seat.cut_off = error
        self.close_all(4502, error, lambda each: that(each.who))


def _take(buckets: Buckets, name: str, said: str) -> None:
    wait = buckets.take(name, asyncio.get_running_loop().time())
    if wait:
        raise Refused("RATE_LIMITED", said, retry_after=round(wait + 0.05, 1))
