"""Limits for each user: frames, requests, bytes, processor time, streams and costly requests.

The limits apply to all connections of a user together. They protect the owner of the data and the
other users. For the owner only `requests_per_second` applies, and `frames_per_second` of a
connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from time import thread_time
from typing import Any, TypeAlias, TypeVar

from turnwire.core.error_codes import Refused
from turnwire.server.access.keys import Who
from turnwire.server.access.limits import Bucket
from turnwire.settings import Settings

__all__ = ["Share", "Shares"]

T = TypeVar("T")
Receive: TypeAlias = Callable[[], Awaitable[Any]]

_KEPT = 10_000  # users in memory before inactive ones are removed
_MOST_WAITING = 8  # costly requests of a user that may wait in the queue
_SOON = 5  # seconds for `retry_after` if the real wait is not known

_MANY_REQUESTS = "Too many requests in a short time (requests_per_second, requests_at_once)."
_MANY_BYTES = "This user sends more bytes than the server takes (bytes_per_second, bytes_at_once)."
_MUCH_WORK = (
    "The requests of this user take more of the server's time than their share"
    " (work_per_second, work_at_once)."
)


class Share:
    """Counts the resources that one user takes, over all of their connections and requests."""

    def __init__(self, settings: Settings, *, is_owner: bool) -> None:
        self.is_limited = not is_owner
        self.frames = Bucket(settings.frames_per_second, settings.frames_at_once)
        self._requests = Bucket(settings.requests_per_second, settings.requests_at_once)
        self._bytes = Bucket(settings.bytes_per_second, settings.bytes_at_once)
        self._work = Bucket(settings.work_per_second, settings.work_at_once)
        self._most_streams = settings.max_streams_per_user
        self._streams = 0
        self._most_costly = settings.costly_at_once
        self._costly = asyncio.Semaphore(self._most_costly)
        self._waiting = 0
        self._held = 0  # connections, and costly requests that run

    @property
    def is_at_rest(self) -> bool:
        """Returns whether this user has no connection, stream or costly request."""
        return not (self._streams or self._waiting or self._held)

    # --- requests, bytes and time -----------------------------------------------------------------

    def count_request(self) -> None:
        """Counts an HTTP request. Raises Refused if the user is over a limit."""
        wait = self._requests.take(_now())
        if wait:
            raise _too_much(wait, _MANY_REQUESTS)
        self.check()

    def check(self) -> None:
        """Raises Refused while the user is over the limit of bytes or of processor time."""
        wait, why = self.debt()
        if wait:
            raise _too_much(wait, why)

    def debt(self) -> tuple[float, str]:
        """Returns the seconds until the user may continue, and the reason; 0 if they may now."""
        if self.is_limited:
            now = _now()
            for bucket, why in ((self._bytes, _MANY_BYTES), (self._work, _MUCH_WORK)):
                if wait := bucket.wait(now):
                    return wait, why
        return 0.0, ""

    def count_bytes(self, size: int) -> None:
        """Counts bytes that the user has sent."""
        if self.is_limited:
            self._bytes.charge(_now(), size)

    def count_text(self, text: str) -> None:
        """Counts a frame that the user has sent."""
        self.count_bytes(len(text) if text.isascii() else len(text.encode(errors="replace")))

    def metered(self, receive: Receive) -> Receive:
        """Returns a `receive` that counts each piece of a body, and raises Refused above the limit.

        So a user who sends many bodies at once holds no more memory than `bytes_at_once`.
        """
        if not self.is_limited:
            return receive

        async def receive_metered() -> Any:
            message = await receive()
            if size := len(message.get("body", b"")):
                self.check()
                self.count_bytes(size)
            return message

        return receive_metered

    async def timed(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits a coroutine, and counts the processor time that it uses on the event loop."""
        return await (_Timed(work, self._count_work) if self.is_limited else work)

    def _count_work(self, seconds: float) -> None:
        self._work.charge(_now(), seconds)

    # --- connections, streams and costly requests -------------------------------------------------

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps the share in memory, so that a user never has two shares."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Counts one stream of changes. Raises Refused if the user has too many."""
        if self.is_limited and self._streams >= self._most_streams:
            said = (
                f"This user has {self._streams} streams of changes, and may have no more"
                " (max_streams_per_user)."
            )
            raise Refused("RATE_LIMITED", f"{said} Close one of them.", retry_after=_SOON)
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    @asynccontextmanager
    async def costly(self) -> AsyncIterator[None]:
        """Limits how many costly requests run at once: searches, exports and forks.

        A few more wait in a queue. Raises Refused if the queue is full.
        """
        if not self.is_limited:
            yield
            return
        if self._waiting >= _MOST_WAITING:
            said = (
                f"{self._most_costly} searches, exports or forks of this user are under way, and"
                f" {self._waiting} wait (costly_at_once). Ask again when one of them is done."
            )
            raise Refused("RATE_LIMITED", said, retry_after=_SOON)
        self._waiting += 1
        try:
            await self._costly.acquire()
        finally:
            self._waiting -= 1
        try:
            with self.held():
                yield
        finally:
            self._costly.release()


class Shares:
    """The shares of all users."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._shares: dict[str | None, Share] = {}
        self._most = _KEPT

    def of(self, who: Who) -> Share:
        """Returns the share of this user."""
        share = self._shares.get(who.user)
        if share is None:
            if len(self._shares) >= self._most:
                self._forget()
            share = Share(self._settings, is_owner=who.is_owner)
            self._shares[who.user] = share
        return share

    def _forget(self) -> None:
        """Removes the shares of inactive users; their buckets would be full again soon."""
        busy = {name: share for name, share in self._shares.items() if not share.is_at_rest}
        self._shares = busy
        self._most = max(_KEPT, 2 * len(busy))


class _Timed(Generator[Any, None, T]):
    """Runs a coroutine step by step and reports the processor time of each step.

    Between two steps the coroutine waits, and the event loop runs other tasks.
    """

    def __init__(self, work: Coroutine[Any, Any, T], report: Callable[[float], None]) -> None:
        self._work = work
        self._report = report

    def __await__(self) -> Generator[Any, None, T]:
        return self

    def __iter__(self) -> Generator[Any, None, T]:
        return self

    def send(self, value: None) -> Any:
        began = thread_time()
        try:
            return self._work.send(value)
        finally:
            self._report(thread_time() - began)

    def throw(self, *error: Any) -> Any:
        began = thread_time()
        try:
            return self._work.throw(*error)
        finally:
            self._report(thread_time() - began)

    def close(self) -> None:
        self._work.close()


def _too_much(wait: float, why: str) -> Refused:
    return Refused("RATE_LIMITED", why, retry_after=round(wait + 0.05, 1))


def _now() -> float:
    return asyncio.get_running_loop().time()
