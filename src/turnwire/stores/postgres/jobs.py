"""Jobs: what a lane is asked to write; and the queue in which they wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from turnwire.core.partials import Partial
from turnwire.ports import Claim, StorageUnavailable
from turnwire.stores.postgres.audit import MOST_ROWS
from turnwire.stores.postgres.commit import CommitRows
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.text import stored_text

__all__ = ["Call", "CommitJob", "Job", "JobQueue", "SaveJob"]

T = TypeVar("T")

_MOST_JOBS = 256  # in one statement
_MOST_BYTES = 4 * 1024 * 1024  # of the states and entries of one statement


class Job(Generic[T]):
    """A unit of writing. `key` decides its lane and its order."""

    __slots__ = ("future", "key", "tries")

    def __init__(self, key: str) -> None:
        self.key = key
        self.tries = 0
        self.future: asyncio.Future[T] = asyncio.get_running_loop().create_future()

    def succeed(self, result: T) -> None:
        if not self.future.done():  # otherwise the caller was cancelled
            self.future.set_result(result)

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class CommitJob(Job[None]):
    __slots__ = ("rows",)

    def __init__(self, rows: CommitRows) -> None:
        super().__init__(rows.name)
        self.rows = rows


class SaveJob(Job[None]):
    __slots__ = ("claim", "partials")

    def __init__(self, claim: Claim, partials: Sequence[Partial]) -> None:
        super().__init__(stored_text(claim.conversation_id))
        self.claim = claim
        self.partials = partials


class Call(Job[T]):
    """A function that writes with the connection, in a transaction of its own.

    With `repeats` it is one statement that may run twice without harm, and needs no transaction.
    """

    __slots__ = ("repeats", "run")

    def __init__(
        self, key: str, run: Callable[[DatabaseConnection], Awaitable[T]], *, repeats: bool
    ) -> None:
        super().__init__(key)
        self.run = run
        self.repeats = repeats


class JobQueue:
    """The jobs of a lane that were not sent yet, in order of arrival."""

    def __init__(self) -> None:
        self.is_closed = False
        self._waiting: deque[Job[Any]] = deque()
        self._wanted = asyncio.Event()

    def __bool__(self) -> bool:
        """Returns whether a job waits."""
        return bool(self._waiting)

    def add(self, job: Job[Any]) -> None:
        """Queues a job. Raises StorageUnavailable if the queue is closed."""
        if self.is_closed:
            raise StorageUnavailable("The store is closed.")
        self._waiting.append(job)
        self._wanted.set()

    def close(self) -> None:
        """Refuses further jobs. Those that wait are still written."""
        self.is_closed = True
        self._wanted.set()

    async def wait(self) -> None:
        """Waits until a job is queued, or the queue is closed."""
        await self._wanted.wait()
        self._wanted.clear()

    def refuse_all(self, failure: Exception) -> None:
        """Fails the jobs that were not sent: they have waited for the server as long as others."""
        for job in self._waiting:
            job.fail(failure)
        self._waiting.clear()

    def take(self) -> list[Job[Any]]:
        """Takes the next jobs: either one call, or commits, or saves, one of each conversation."""
        kind = type(self._waiting[0])
        if issubclass(kind, Call):
            return [self._waiting.popleft()]
        taken: list[Job[Any]] = []
        left: list[Job[Any]] = []
        keys: set[str] = set()
        size = audits = 0
        while self._waiting and len(taken) < _MOST_JOBS and size < _MOST_BYTES:
            job = self._waiting.popleft()
            more = job.rows.audits if isinstance(job, CommitJob) else 0
            if type(job) is kind and job.key not in keys and audits + more <= MOST_ROWS:
                taken.append(job)
                size += job.rows.bytes if isinstance(job, CommitJob) else 0
                audits += more
            else:
                left.append(job)
                if isinstance(job, Call):  # may concern any conversation
                    break
            keys.add(job.key)
        self._waiting.extendleft(reversed(left))
        return taken
