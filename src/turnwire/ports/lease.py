"""The lease of a conversation, for work that must end before the lease does."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

__all__ = ["Lease"]


class Lease:
    """The time for which this process is certain to own a conversation.

    The engine renews it together with the store's lease, after which another process may take over.
    Work for the conversation ends in the last part, the margin, so that two agents never run at
    once.
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
        """Renews the lease unless enough time is left for new work. Raises StorageUnavailable."""
        if self.left < 2 * self.margin:
            await self._renew()
