"""Follows a conversation for one RPC client: each line becomes its frames, under the right ids."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.dialects.rpc.projector import Line
from turnwire.errors import TurnwireError
from turnwire.server.rpc.written import Written
from turnwire.server.sockets.outlet import Outlet

__all__ = ["RpcFollower"]


class RpcFollower:
    """From `connect` to `disconnect`. While the conversation is being opened, what happens waits."""

    def __init__(
        self, outlet: Outlet, tell: Callable[[list[Line]], list[Written]], *, size: int
    ) -> None:
        """`tell` makes the frames of lines; `size`: bytes that may wait until it is open."""
        self.is_opening = True
        self._outlet = outlet
        self._tell = tell
        self._most_bytes = size
        self._early: list[Line] = []
        self._early_size = 0  # bytes of those

    def receive(self, together: list[Line]) -> None:
        """Send it, or keep it for later. Never waits."""
        if not self.is_opening:
            self._outlet.receive(self._tell(together))
        elif self._early_size > self._most_bytes:
            self.begin()
            self._outlet.cut_off()
        else:
            self._early += together
            self._early_size += sum(line.size for line in together)

    def begin(self) -> None:
        """From this moment on: what came before is in what is sent first, or is not sent at all."""
        self._early.clear()
        self._early_size = 0
        if not self.is_opening:
            self._outlet.begin()

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Nothing more comes from this conversation; what waits is still sent."""
        self._outlet.finish(why)

    def let_go(self) -> None:
        """It is open: whatever came meanwhile follows, and then all else."""
        self.is_opening = False
        lines, self._early, self._early_size = self._early, [], 0
        self._outlet.receive(self._tell(lines))
