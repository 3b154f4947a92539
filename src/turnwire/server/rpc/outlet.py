"""What one RPC connection is sent: answers at once, and the conversation as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from turnwire.engine.channel import (
    LARGE,
    Holdable,
    Listener,
    Sent,
    Spoken,
    in_pieces,
)
from turnwire.server.outlet import Outlet
from turnwire.server.rpc.feed import Feed, Line

__all__ = ["RpcOutlet", "Written"]


class Written(Sent):
    """A frame that is bytes already: its own, and those of a line that others get as well."""

    __slots__ = ("_line", "raw")

    def __init__(self, raw: bytes, number: int | None = None, line: Line | None = None) -> None:
        self.holders = 0
        self.raw = raw
        self.number = number
        self._line = line
        self._size = len(raw) + (len(line.written) if line is not None else 0)

    @property
    def is_large(self) -> bool:
        """Whether it is too large to be handed to a socket at once."""
        return self.size > LARGE

    @property
    def shared(self) -> Holdable:
        """The line, if there is one."""
        return self._line or self

    def at(self, sequence: int) -> bytes:
        """The same for whichever number: these frames have none."""
        return self.raw if self._line is None else self.raw + self._line.written

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """The same in pieces. Those of the line are views of what everyone shares."""
        rest = self._line.written if self._line is not None else b""
        return [*in_pieces(self.raw), *in_pieces(rest)]


class RpcOutlet(Listener, Outlet):
    """An outlet that listens. While a conversation is being opened, what happens in it waits."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._held = False  # there is no conversation yet, and calls are answered without one
        self.feed: Feed | None = None
        self.tell: Callable[[list[Line]], list[Sent]] = lambda lines: []  # their frames
        self._opening = False
        self._early: list[Line] = []
        self._early_size = 0  # bytes of those

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits to be sent."""
        return super().is_idle and not self._opening

    def hear(self, together: list[Sent | Spoken]) -> None:
        """Translate it, and send it or keep it for later. Never waits."""
        if self.feed is None or self._over:
            return
        lines = self.feed.hear(together)
        if self._opening:
            if self._early_size > self._most_bytes:
                self._early.clear()
                self.cut_off()
                return
            self._early += lines
            self._early_size += sum(line.size for line in lines)
        else:
            self.receive(self.tell(lines))

    def begin(self) -> None:
        """From this moment on: what came before is in what is sent first."""
        if self._opening:
            self._early.clear()
            self._early_size = 0
        else:
            super().begin()

    async def hold(self) -> None:
        """A conversation is about to be opened: first everything else is sent."""
        self._opening = True
        if self._pump is not None:
            await asyncio.wait([self._pump])

    def let_go(self) -> None:
        """It is open: whatever came meanwhile follows, and then all else."""
        self._opening = False
        lines, self._early, self._early_size = self._early, [], 0
        self.receive(self.tell(lines))

    def give_up(self) -> None:
        """It could not be opened: nothing of it is told, and calls are answered as before."""
        self._opening = False
        self._early.clear()
        self._early_size = 0
