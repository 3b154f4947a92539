"""What the servers that share a store tell each other, and how they reach each other."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from turnwire.bus.address import BusAddress
from turnwire.bus.failover import FailoverBus
from turnwire.bus.open_bus import open_bus
from turnwire.bus.sealed import SealedBus
from turnwire.ports import Bus, Store

if TYPE_CHECKING:
    from turnwire.server.service import Service
    from turnwire.settings import Settings

__all__ = ["OtherNodes", "bus_name", "bus_of"]

_RECENT_SECONDS = 30.0  # longer than a bus needs to notice that it is lost
_MOST_RECENT = 1_000
_CUT, _REVOKED, _SIGNED_OUT = "cut", "revoked", "signed_out"


async def bus_of(settings: Settings, store: Store) -> Bus | None:
    """Returns the bus to the other servers. Returns None if the settings turn it off.

    Without a setting, servers on a database use that database, and servers on a file use sockets in
    the data directory. Otherwise these are the stand-in, for as long as the bus of the setting is
    lost. The secret that the servers have in common is in the store.
    """
    if settings.bus == "off":
        return None
    bus = open_bus(settings.store or f"unix://{(settings.data_path / 'nodes').absolute()}")
    if settings.bus:
        bus = FailoverBus(open_bus(settings.bus), bus)
    return SealedBus(bus, await store.shared_secret())


def bus_name(settings: Settings) -> str:
    """Returns how the messages of this server travel, without a password."""
    if settings.bus and settings.bus != "off":
        return BusAddress(settings.bus, (settings.bus.partition("://")[0],)).shown
    return settings.bus or ("store" if settings.store else "sockets")


class OtherNodes:
    """Tells the other servers whose connections to close."""

    def __init__(self, service: Service) -> None:
        cluster = service.engine.cluster
        self._recent: deque[tuple[float, str, str]] = deque(maxlen=_MOST_RECENT)
        self._mailbox = None if cluster is None else cluster.mailbox
        if cluster is not None and self._mailbox is not None:
            cluster.when_missed(service.authenticate_again)
            cluster.when_missed(self._tell_again)
            self._mailbox.on(_CUT, service.cut_here)
            self._mailbox.on(_REVOKED, service.revoked_elsewhere)
            self._mailbox.on(_SIGNED_OUT, service.sign_out_here)

    def cut(self, conversation_id: str) -> None:
        """An archived or deleted conversation has no followers."""
        self._tell(_CUT, conversation_id)

    def revoke(self, token_id: str) -> None:
        """A token is void."""
        self._tell(_REVOKED, token_id)

    def sign_out(self, user: str) -> None:
        """A user was signed out."""
        self._tell(_SIGNED_OUT, user)

    def _tell(self, topic: str, what: str) -> None:
        if self._mailbox is not None:
            self._recent.append((asyncio.get_running_loop().time(), topic, what))
            self._mailbox.announce(topic, what)

    def _tell_again(self) -> None:
        """Repeats what was told just before the bus was lost: it may not have arrived."""
        old = asyncio.get_running_loop().time() - _RECENT_SECONDS
        for at, topic, what in self._recent:
            if at > old and self._mailbox is not None:
                self._mailbox.announce(topic, what)
