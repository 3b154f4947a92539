"""The lease of a process, for work that must end before the lease does."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from turnwire.ports.storage_errors import StorageUnavailable

__all__ = ["Lease"]


class Lease:
    """The time for which this process is certain to own its conversations.

    The engine renews it only after the store has renewed the lease of the process's node. After the
    lease another process may take over. Work for a conversation ends in the last part, the margin,
    so that two agents never run at once.
    """

    def __init__(
        self, seconds: float, begun: float, renew: Callable[[], Awaitable[object]]
    ) -> None:
        """`begun`: the time of the request to the store, by `time.monotonic`."""
        self.seconds = seconds
        self.margin = seconds / 5
        self._until = begun + seconds
        self._renew = renew

    @property
    def left(self) -> float:
        """Returns the seconds until another process may take over."""
        return self._until - time.monotonic()

    def renewed(self, begun: float) -> None:
        """Records that the store has renewed the lease; `begun` is the time of the request."""
        self._until = begun + self.seconds

    async def ensure(self) -> None:
        """Renews the lease unless enough time is left for new work.

        Raises StorageUnavailable, also if other processes have taken the conversations over.
        """
        if self.left < 2 * self.margin:
            await self._renew()
            if self.left < self.margin:
                raise StorageUnavailable("Another process may have taken the conversation over.")
