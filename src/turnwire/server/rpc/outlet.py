"""What one RPC connection is sent: answers at once, and the conversation as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from turnwire.engine.channel import Listener, Sent, SlowReader, Spoken
from turnwire.server.outlet import Outlet
from turnwire.server.rpc.feed import Feed, Line

__all__ = ["RpcOutlet", "Written"]

_LINE = 400  # bytes, about


class Written(Sent):
    """A frame that is bytes already."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes, number: int | None = None) -> None:
        self.raw = raw
        self.number = number
        self._size = len(raw)

    def at(self, sequence: int) -> bytes:
        """The same for whichever number: these frames have none."""
        return self.raw


class RpcOutlet(Listener, Outlet):
    """An outlet that listens. While a conversation is being opened, what happens in it waits."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._held = False  # there is no conversation yet, and calls are answered without one
        self.feed: Feed | None = None
        self.tell: Callable[[list[Line]], list[Sent]] = lambda lines: []  # their frames
        self._opening = False
        self._early: list[Line] = []

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
            self._early += lines
            if len(self._early) * _LINE > self._most_bytes:
                self.finish(partial(SlowReader, "You read too slowly; come again from your place."))
        else:
            self.receive(self.tell(lines))

    def begin(self) -> None:
        """From this moment on: what came before is in what is sent first."""
        if self._opening:
            self._early.clear()
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
        lines, self._early = self._early, []
        self.receive(self.tell(lines))

    def give_up(self) -> None:
        """It could not be opened: nothing of it is told, and calls are answered as before."""
        self._opening = False
        self._early.clear()
