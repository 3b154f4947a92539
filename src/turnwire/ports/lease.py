"""The lease of a conversation, for those who must have ended before it does."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

__all__ = ["Lease"]


class Lease:
    """Says for how long this process surely owns a conversation.

    The engine renews it together with the store's lease, after which another process may take over.
    What works for the conversation ends in the last part, the margin: two agents must not meet.
    """

    def __init__(
        self, seconds: float, begun: float, renew: Callable[[], Awaitable[object]]
    ) -> None:
        """`begun`: when the store was asked for it, as `time.monotonic` tells."""
        self.seconds = seconds
        self.margin = seconds / 5
        self._until = begun + seconds
        self._renew = renew

    @property
    def left(self) -> float:
        """Seconds until another process may take over."""
        return self._until - time.monotonic()

    def renewed(self, begun: float) -> None:
        """The store has renewed it; it was asked to when it was `begun`."""
        self._until = begun + self.seconds

    async def ensure(self) -> None:
        """Renews it unless enough is left to begin something. Raises StorageUnavailable."""
        if self.left < 2 * self.margin:
            await self._renew()
