"""Counts the bytes that wait for all clients, and disconnects the slowest clients above a limit."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Backlog", "Holdable", "Outgoing"]


class Holdable(Protocol):
    """Bytes that several outlets may share, with the number of clients for whom they wait."""

    holders: int


class Outgoing(Protocol):
    """A message for one client, most of whose bytes may be shared with other clients."""

    @property
    def number(self) -> int | None:
        """Returns the number of the log entry that the message is about, or None."""

    @property
    def size(self) -> int:
        """Returns the approximate size in bytes."""

    @property
    def is_large(self) -> bool:
        """Returns whether the message is too large to be written to a socket at once."""

    @property
    def shared(self) -> Holdable:
        """Returns the part that clients for whom the same message waits share."""

    def at(self, sequence: int) -> bytes:
        """Returns the bytes, with this sequence number of the connection."""

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """Returns the same bytes in pieces."""


class _Holder(Protocol):
    """The outlet of a client, in which frames wait."""

    @property
    def waiting_bytes(self) -> int:
        """Returns how many bytes wait in it."""

    def cut_off(self) -> None:
        """Drops the frames that wait, and ends the connection as that of a slow reader."""


class Backlog:
    """The frames that wait for the clients of one server.

    A frame for several clients counts once.
    """

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
        """Stops counting a frame that was sent to a client, or dropped."""
        shared = sent.shared
        shared.holders -= 1
        if not shared.holders:
            self.total -= sent.size

    def check(self) -> None:
        """Disconnects the clients with the most waiting bytes, until the limit is kept."""
        if self.total <= self._most:
            return
        # Disconnecting one client does not change the bytes of the others, so one sort is enough.
        for slowest in sorted(self._holders, key=lambda each: each.waiting_bytes, reverse=True):
            if self.total <= self._most:
                return
            slowest.cut_off()
            self._holders.discard(slowest)

    def forget(self, holder: _Holder) -> None:
        """Removes a client for whom no frame waits any more."""
        self._holders.discard(holder)
