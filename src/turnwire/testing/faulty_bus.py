"""A bus with faults, for tests: it loses, doubles and reorders messages, and can be cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random

from turnwire.ports import Bus, Receive

__all__ = ["FaultyBus"]


class FaultyBus:
    """Sends over another bus, with faults. The same seed gives the same faults.

    It breaks the promises of the port. `SealedBus` on top of it restores order and "at most once".
    """

    def __init__(
        self,
        bus: Bus,
        seed: int,
        *,
        lose: float = 0.1,
        double: float = 0.1,
        reorder: float = 0.1,
    ) -> None:
        """`lose`, `double` and `reorder` are probabilities, for each message that is sent."""
        self._bus = bus
        self._random = Random(seed)
        self._lose, self._double, self._reorder = lose, double, reorder
        self._late: list[Callable[[], None]] = []
        self._is_cut_off = False
        self._reconnected: Callable[[], None] | None = None
        self.faults: Counter[str] = Counter()  # those made so far, by kind

    @property
    def most_bytes(self) -> int:
        """Maximum size of a message."""
        return self._bus.most_bytes

    @property
    def is_connected(self) -> bool:
        """Whether messages pass."""
        return not self._is_cut_off and self._bus.is_connected

    @property
    def dropped(self) -> Mapping[str, int]:
        """The messages that the bus below has dropped. `faults` counts the faults made here."""
        return self._bus.dropped

    async def open(
        self, inbox: str, receive: Receive, *, reconnected: Callable[[], None] | None = None
    ) -> None:
        """Opens the bus below."""
        self._reconnected = reconnected

        def heard(data: bytes) -> None:
            if not self._is_cut_off:
                receive(data)

        await self._bus.open(inbox, heard, reconnected=reconnected)

    def send(self, inbox: str, data: bytes) -> None:
        """Sends a message, or does not."""
        self._with_faults(lambda: self._bus.send(inbox, data))

    def broadcast(self, data: bytes) -> None:
        """Sends a message to all other nodes, or does not."""
        self._with_faults(lambda: self._bus.broadcast(data))

    async def close(self) -> None:
        """Closes the bus below. Messages that are held for reordering are lost."""
        await self._bus.close()

    def cut_off(self) -> None:
        """Loses every message, in both directions, until `come_back`."""
        self._is_cut_off = True

    def come_back(self) -> None:
        """Passes messages again."""
        self._is_cut_off = False
        if self._reconnected is not None:
            self._reconnected()

    def _with_faults(self, send: Callable[[], None]) -> None:
        if self._is_cut_off:
            return
        late, self._late = self._late, []
        if self._chance("lost", self._lose):
            pass
        elif self._chance("reordered", self._reorder):
            self._late = [send]  # sent after the next message
        else:
            send()
            if self._chance("doubled", self._double):
                if self._random.random() < 0.5:
                    send()
                else:
                    self._late = [send]
        for send_late in late:
            send_late()

    def _chance(self, fault: str, probability: float) -> bool:
        happens = self._random.random() < probability
        self.faults[fault] += happens
        return happens
