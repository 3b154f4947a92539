"""Follows a conversation for one RPC client, and turns the projector's lines into its frames."""

from __future__ import annotations

from collections.abc import Callable

from turnwire.dialects.rpc.projector import Line
from turnwire.errors import TurnwireError
from turnwire.server.rpc.written import Written
from turnwire.server.sockets.outlet import Outlet

__all__ = ["RpcFollower"]


class RpcFollower:
    """Follows from `connect` to `disconnect`. Lines wait while the conversation is being opened."""

    def __init__(
        self, outlet: Outlet, tell: Callable[[list[Line]], list[Written]], *, size: int
    ) -> None:
        """`tell` makes frames of lines.

        `size` is the maximum of bytes that wait during the opening.
        """
        self.is_opening = True
        self._outlet = outlet
        self._tell = tell
        self._most_bytes = size
        self._early: list[Line] = []
        self._early_size = 0  # bytes of `_early`

    def receive(self, together: list[Line]) -> None:
        """Sends lines, or keeps them until the conversation is open. Never waits."""
        if not self.is_opening:
            self._outlet.receive(self._tell(together))
        elif self._early_size > self._most_bytes:
            self.begin()
            self._outlet.cut_off()
        else:
            self._early += together
            self._early_size += sum(line.size for line in together)

    def begin(self) -> None:
        """Drops the lines that wait: the first frames contain them, or the connection ends."""
        self._early.clear()
        self._early_size = 0
        if not self.is_opening:
            self._outlet.begin()

    def finish(self, why: Callable[[], TurnwireError]) -> None:
        """Accepts no further lines. Frames that wait are still sent."""
        self._outlet.finish(why)

    def let_go(self) -> None:
        """Sends the lines that came during the opening. From now on lines are sent directly."""
        self.is_opening = False
        lines, self._early, self._early_size = self._early, [], 0
        self._outlet.receive(self._tell(lines))
