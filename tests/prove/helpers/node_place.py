"""A server among others: which people and which conversations it has, and how it is cut off from the others."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from tests.prove.helpers import users
from tests.prove.helpers.journal import Away, Journal, Resumed
from tests.stores.postgres.faults import Proxy
from turnwire.bus.open_bus import open_bus
from turnwire.bus.sealed import SealedBus
from turnwire.core.error_codes import Refused
from turnwire.engine import Engine
from turnwire.engine.ownership.owners import has_died
from turnwire.engine.ownership.stored_state import is_held
from turnwire.ports import Bus, Owned, StorageUnavailable, Store
from turnwire.stores.address import is_database
from turnwire.testing import FaultyBus

__all__ = [
    "CUT_BUS",
    "CUT_SECONDS",
    "CUT_STORE",
    "FAILED",
    "NodePlace",
    "cut_when_signalled",
    "hold_signals",
    "open_cuttable_bus",
]

NAMES = "abcdefgh"
UNOWNED_SECONDS = 2.0  # until a node does without a node that does not start
CUT_STORE, CUT_BUS = signal.SIGUSR1, signal.SIGUSR2
CUT_SECONDS = 5.0  # longer than the lease of a day
FAILED = "failed"  # a file: one of the nodes could not finish its day


class NodePlace:
    """One of several nodes of a day."""

    def __init__(self, folder: Path, name: str, count: int) -> None:
        self.folder = folder
        self.name = name
        self._number = NAMES.index(name)
        self._count = count

    def people_of(self, talks: list[str]) -> list[str]:
        """Returns the conversations whose people are on this node."""
        return talks[self._number :: self._count]

    async def take_its_own(self, engine: Engine, talks: list[str]) -> None:
        """Claims the conversations of another node's people, and waits until all have an owner."""
        for number, name in enumerate(talks, 1):
            if number % self._count == self._number:
                with suppress(Owned, Refused, StorageUnavailable):
                    await engine.wake(name)
        deadline = time.monotonic() + UNOWNED_SECONDS
        for name in talks:
            while time.monotonic() < deadline:
                row = await users.patiently(partial(engine.store.conversation, name))
                if row is not None and is_held(row, engine.clock.now(), has_died):
                    break
                await asyncio.sleep(0.02)

    async def others_are_done(self) -> None:
        """Tells the other nodes that the people here are done, and waits for theirs."""
        (self.folder / f"done-{self.name}").touch()
        wanted = {f"done-{name}" for name in NAMES[: self._count]}
        async with asyncio.timeout(users.PATIENCE * 4):  # another one may be killed several times
            # Another process makes the file.
            while not wanted <= {path.name for path in self.folder.glob("done-*")}:
                if (self.folder / FAILED).exists():
                    raise AssertionError("another node has failed")
                await asyncio.sleep(0.02)


async def open_cuttable_bus(place: NodePlace, address: str, store: Store) -> FaultyBus:
    """Returns the bus that servers on such a store use by themselves. It can be cut off."""
    url = address if is_database(address) else f"unix://{place.folder}/bus"
    bus: Bus = SealedBus(open_bus(url), await store.shared_secret())
    return FaultyBus(bus, 0, lose=0, double=0, reorder=0)


def hold_signals() -> None:
    """Lets a signal wait until `cut_when_signalled`: on a busy machine it comes before that, and would kill."""
    signal.pthread_sigmask(signal.SIG_BLOCK, (CUT_BUS, CUT_STORE))


def cut_when_signalled(bus: FaultyBus, proxy: Proxy | None, journal: Journal) -> None:
    """Cuts this node off from the bus or from its database for a while, at a signal."""
    loop = asyncio.get_running_loop()

    def come_back() -> None:
        bus.come_back()
        if proxy is not None:
            proxy.come_back()
        journal.write(Resumed(pid=os.getpid()))

    def cut_bus() -> None:
        bus.cut_off()
        loop.call_later(CUT_SECONDS, come_back)

    def cut_store() -> None:
        if proxy is not None:
            journal.write(Away(until=time.monotonic() + CUT_SECONDS))
            proxy.go_away()
            loop.call_later(CUT_SECONDS, come_back)

    loop.add_signal_handler(CUT_BUS, cut_bus)
    loop.add_signal_handler(CUT_STORE, cut_store)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (CUT_BUS, CUT_STORE))
