"""Counts the bytes that wait for all clients together, and disconnects the slowest if they are too many."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Backlog", "Holdable", "Outgoing"]


class Holdable(Protocol):
    """What counts the clients for whom it waits."""

    holders: int


class Outgoing(Protocol):
    """A message for one client, of which much may be shared with others."""

    @property
    def number(self) -> int | None:
        """The entry of the log that it tells, if it tells one."""

    @property
    def size(self) -> int:
        """About how many bytes it takes."""

    @property
    def is_large(self) -> bool:
        """Whether it is too large to be handed to a socket at once."""

    @property
    def shared(self) -> Holdable:
        """What clients for whom the same message waits have in common."""

    def at(self, sequence: int) -> bytes:
        """Its bytes, as the client's message of this number."""

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """The same bytes in pieces."""


class _Holder(Protocol):
    """The outlet of a client, in which frames wait."""

    @property
    def waiting_bytes(self) -> int:
        """Returns how many bytes wait in it."""

    def cut_off(self) -> None:
        """Drops what waits, and ends the connection as that of a slow reader."""


class Backlog:
    """The frames that wait for clients of one server. A frame that waits for several clients counts once."""

    def __init__(self, most: int) -> None:
        self.total = 0  # bytes that wait now
        self._most = most
        self._holders: set[_Holder] = set()

    def hold(self, holder: _Holder, sent: Outgoing) -> None:
        """Counts a frame that begins to wait for a client."""
        shared = sent.shared
        if not shared.holders:
            self.total += sent.size
        shared.holders += 1
        self._holders.add(holder)

    def let_go(self, sent: Outgoing) -> None:
        """Counts a frame off that was sent to a client, or dropped."""
        shared = sent.shared
        shared.holders -= 1
        if not shared.holders:
            self.total -= sent.size

    def check(self) -> None:
        """Disconnects the clients for whom most waits, until the rest is at most the limit."""
        if self.total <= self._most:
            return
        # What waits for a client does not change while others are disconnected: one order is enough.
        for slowest in sorted(self._holders, key=lambda each: each.waiting_bytes, reverse=True):
            if self.total <= self._most:
                return
            slowest.cut_off()
            self._holders.discard(slowest)

    def forget(self, holder: _Holder) -> None:
        """Removes a client for whom nothing waits any more."""
        self._holders.discard(holder)
