"""Two buses as one: a main bus, and a stand-in that carries messages while the main one is lost.

Both are always open, and messages of both are received. Each node sends over the main bus while it
is connected, otherwise over the stand-in. A node that has lost the main bus announces that over the
stand-in, again and again: the other nodes then use the stand-in to reach it.

A message may overtake one that went over the other bus, and a broadcast may come over both. So a
`SealedBus` belongs on top: it drops repeated messages and overtaken ones.

Each message begins with a byte: 0 for a message, 1 for "this node has lost the main bus", 2 for
"this node is back on the main bus"; 1 and 2 are followed by the inbox of the node. These two are not
sealed. They are taken from the stand-in alone: who can write to it has access to the store, where the
secret of the seals is.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

from turnwire.bus.delivery import deliver
from turnwire.ports.bus import Bus, Receive

__all__ = ["FailoverBus"]

log = logging.getLogger("turnwire.bus")

_DATA, _LOST, _BACK = b"\0", b"\1", b"\2"
_MOST_NODES = 4096  # announcements are not sealed, so their number is bounded
_LOOKS_PER_ANNOUNCEMENT = 20
_ANNOUNCEMENTS_KEPT = 3  # an announcement is valid until that many could have followed


class FailoverBus:
    """Sends over `main`, and over `stand_in` while `main` is lost here or at the receiver."""

    def __init__(self, main: Bus, stand_in: Bus, *, announce_seconds: float = 2.0) -> None:
        """A node without the main bus announces that every `announce_seconds`."""
        self._main = main
        self._stand_in = stand_in
        self._announce_seconds = announce_seconds
        self._inbox = b""
        self._receive: Receive | None = None
        self._reconnected: Callable[[], None] | None = None
        self._without_main: dict[str, float] = {}  # inboxes, and until when that is believed
        self._watch: asyncio.Task[None] | None = None

    @property
    def most_bytes(self) -> int:
        """Maximum size of a message, on either bus."""
        return min(self._main.most_bytes, self._stand_in.most_bytes) - len(_DATA)

    @property
    def is_connected(self) -> bool:
        """Whether one of the two is connected."""
        return self._main.is_connected or self._stand_in.is_connected

    @property
    def dropped(self) -> Mapping[str, int]:
        """The number of messages that the two buses dropped, by reason."""
        return Counter(self._main.dropped) + Counter(self._stand_in.dropped)

    async def open(
        self, inbox: str, receive: Receive, *, reconnected: Callable[[], None] | None = None
    ) -> None:
        """Opens both. `reconnected` is also called when the node changes to the stand-in."""
        self._inbox, self._receive, self._reconnected = inbox.encode(), receive, reconnected
        try:
            await self._main.open(inbox, self._heard, reconnected=self._call_reconnected)
            await self._stand_in.open(
                inbox, self._heard_stand_in, reconnected=self._stand_in_is_connected_again
            )
        except BaseException:
            await self.close()
            raise
        self._watch = asyncio.create_task(self._announce(), name="turnwire bus")

    def send(self, inbox: str, data: bytes) -> None:
        """Sends a message over the bus that reaches the receiver."""
        has_main = self._main.is_connected and not self._is_without_main(inbox)
        (self._main if has_main else self._stand_in).send(inbox, _DATA + data)

    def broadcast(self, data: bytes) -> None:
        """Sends a message over both buses if one of the nodes is without the main bus."""
        message = _DATA + data
        if self._main.is_connected:
            self._main.broadcast(message)
        if not self._main.is_connected or any(map(self._is_without_main, [*self._without_main])):
            self._stand_in.broadcast(message)

    async def close(self) -> None:
        """Closes both."""
        if self._watch is not None:
            self._watch.cancel()
            with suppress(asyncio.CancelledError):
                await self._watch
            self._watch = None
        self._receive = None
        await asyncio.gather(self._main.close(), self._stand_in.close())

    def _heard(self, message: bytes) -> None:
        if message[:1] == _DATA and self._receive is not None:
            deliver(self._receive, message[1:])

    def _heard_stand_in(self, message: bytes) -> None:
        kind = message[:1]
        if kind not in (_LOST, _BACK):
            self._heard(message)
        else:
            inbox = message[1:].decode(errors="replace")
            self._without_main.pop(inbox, None)
            if kind == _LOST and len(self._without_main) < _MOST_NODES:
                valid = self._announce_seconds * _ANNOUNCEMENTS_KEPT
                self._without_main[inbox] = asyncio.get_running_loop().time() + valid

    def _is_without_main(self, inbox: str) -> bool:
        until = self._without_main.get(inbox)
        if until is None:
            return False
        if until < asyncio.get_running_loop().time():
            del self._without_main[inbox]
            return False
        return True

    async def _announce(self) -> None:
        """Tells the other nodes over the stand-in that this one has lost the main bus."""
        had_main, looks = True, 0
        while True:
            has_main = self._main.is_connected
            if has_main and not had_main:
                self._stand_in.broadcast(_BACK + self._inbox)
                log.warning("The main bus is used again")
            elif not has_main:
                if had_main:
                    log.warning("The main bus is not connected; the stand-in is used")
                    self._call_reconnected()
                if had_main or looks % _LOOKS_PER_ANNOUNCEMENT == 0:
                    self._stand_in.broadcast(_LOST + self._inbox)
                    looks = 0
            had_main, looks = has_main, looks + 1
            await asyncio.sleep(self._announce_seconds / _LOOKS_PER_ANNOUNCEMENT)

    def _stand_in_is_connected_again(self) -> None:
        if not self._main.is_connected or self._without_main:
            self._call_reconnected()

    def _call_reconnected(self) -> None:
        if self._reconnected is not None:
            self._reconnected()
