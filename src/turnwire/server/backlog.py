"""Counts the bytes that wait for all clients together, and cuts off the slowest if they are too many."""

from __future__ import annotations

from typing import Protocol

from turnwire.engine.channel import Sent

__all__ = ["Backlog"]


class _Holder(Protocol):
    """An outlet in which frames wait."""

    @property
    def waiting_bytes(self) -> int:
        """How many bytes wait in it."""

    def cut_off(self) -> None:
        """Let go of what waits, and end it as a slow reader."""


class Backlog:
    """One for each server. A frame that waits for several clients is there once, and counts once."""

    def __init__(self, most: int) -> None:
        self.total = 0  # bytes that wait now
        self._most = most
        self._holders: set[_Holder] = set()

    def hold(self, holder: _Holder, sent: Sent) -> None:
        """A frame begins to wait for a client."""
        shared = sent.shared
        if not shared.holders:
            self.total += sent.size
        shared.holders += 1
        self._holders.add(holder)

    def let_go(self, sent: Sent) -> None:
        """A frame waits no longer for a client: it was sent, or dropped."""
        shared = sent.shared
        shared.holders -= 1
        if not shared.holders:
            self.total -= sent.size

    def check(self) -> None:
        """Cut off those for whom most waits, until the rest is little enough."""
        while self.total > self._most and self._holders:
            slowest = max(self._holders, key=lambda each: each.waiting_bytes)
            slowest.cut_off()
            self._holders.discard(slowest)

    def forget(self, holder: _Holder) -> None:
        """Nothing waits for this client any more."""
        self._holders.discard(holder)
