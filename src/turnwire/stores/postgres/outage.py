"""An outage of the database: how long calls wait for its end."""

from __future__ import annotations

import asyncio
import time

from turnwire.ports import StorageUnavailable

__all__ = ["Outage", "Retries"]

_RETRY = 0.05  # seconds between two attempts; doubles up to
_LONGEST_RETRY = 1.0


class Outage:
    """The present outage, if there is one; shared by all connections of a store.

    The patience counts from the first failure of an outage. So calls do not wait one after the other
    for a server that is known to be away.
    """

    def __init__(self, patience: float) -> None:
        """`patience`: seconds after which a call raises StorageUnavailable."""
        self.patience = patience
        self.began: float | None = None
        self._next: asyncio.Future[StorageUnavailable] | None = None

    def fail(self, failure: StorageUnavailable) -> None:
        """Notes that the server could not be used."""
        self.began = time.monotonic() if self.began is None else self.began
        if self._next is not None:
            self._next.set_result(failure)
            self._next = None

    def end(self) -> None:
        """Notes that the server answers."""
        self.began = None

    async def next_failure(self) -> StorageUnavailable:
        """Waits until the server cannot be used."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        return await asyncio.shield(self._next)

    def retries(self) -> Retries:
        """Returns the pauses between the attempts of one call."""
        return Retries(self)


class Retries:
    """The pauses between the attempts of one call. They get longer."""

    def __init__(self, outage: Outage) -> None:
        self._outage = outage
        self._began = time.monotonic()
        self._pause = _RETRY

    @property
    def are_over(self) -> bool:
        """Returns whether the patience would be over after the next pause."""
        began = self._outage.began
        since = self._began if began is None else min(began, self._began)
        return time.monotonic() + self._pause > since + self._outage.patience

    async def pause(self) -> None:
        """Waits before the next attempt."""
        await asyncio.sleep(self._pause)
        self._pause = min(2 * self._pause, _LONGEST_RETRY)
