"""A lane: one connection that writes what is asked for, in order, many commits at once.

A conversation always uses the same lane, so its writes keep their order. A lane takes everything
that was asked for since it last looked, and sends it as one statement.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, TypeVar

from turnwire.core.partials import Partial
from turnwire.crash_points import CrashPoint, reach
from turnwire.ports import Claim, Conflict, Fenced, StorageUnavailable
from turnwire.stores.address import Address
from turnwire.stores.postgres import connection as connections
from turnwire.stores.postgres import doubt
from turnwire.stores.postgres.audit import MOST_ROWS
from turnwire.stores.postgres.batch import arguments_of, statement_for, tables_of
from turnwire.stores.postgres.commit import CommitRows
from turnwire.stores.postgres.connection import (
    TRANSIENT,
    WRITER,
    DatabaseConnection,
    close_quietly,
    connect,
    is_lost,
    storage_errors,
)
from turnwire.stores.postgres.epoch import Epoch
from turnwire.stores.postgres.partials import save_all
from turnwire.stores.postgres.search import Written
from turnwire.stores.postgres.text import stored_text
from turnwire.stores.postgres.unavailable import DatabaseUnavailable
from turnwire.stores.postgres.versions import Versions

__all__ = ["Call", "CommitJob", "Job", "Lane", "SaveJob", "Shared"]

T = TypeVar("T")
_log = logging.getLogger("turnwire")

_MOST_JOBS = 256  # in one statement
_MOST_BYTES = 4 * 1024 * 1024  # of the states and entries of one statement
_TRIES = 5  # of what was rolled back for no fault of its own
_RETRY = 0.05  # seconds between two attempts to connect; doubles up to
_LONGEST_RETRY = 1.0
FENCED = "Another owner has taken the conversation over, or it was deleted."


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


class Shared:
    """What all lanes of a store share."""

    def __init__(
        self,
        address: Address,
        *,
        patience: float,
        prepare: Callable[[DatabaseConnection], Awaitable[Epoch]],
        written: Callable[[Written], None],
    ) -> None:
        self.address = address
        self.patience = patience  # seconds to wait for the server before a write is refused
        self.prepare = prepare  # checks a new connection, and returns the epoch of the log
        self.origin = ""  # of the database that is used now; see `epoch.py`
        self.written = written  # gets the entries to be indexed
        self.versions = Versions()
        self.name = f"turnwire {secrets.token_hex(4)}"


def _answer() -> asyncio.Timeout:
    """Limits the time of a short statement: a lane that waits for an answer holds up all others."""
    return asyncio.timeout(connections.ANSWER_SECONDS)


class Lane:
    """Writes jobs in order of arrival, each once, and answers when it is certain."""

    def __init__(self, shared: Shared, part: int) -> None:
        self._shared = shared
        self._part = part
        self._waiting: deque[Job[Any]] = deque()
        self._wanted = asyncio.Event()
        self._is_closed = False
        self._connection: DatabaseConnection = None
        self._epoch = Epoch("", 0, "")
        self._opened = 0  # connections so far
        self._begun = 0  # transactions so far
        self._task = asyncio.get_running_loop().create_task(self._work())

    def submit(self, job: Job[T]) -> asyncio.Future[T]:
        """Queues a job. Its future is done when the job is durable, or has failed."""
        if self._is_closed:
            raise StorageUnavailable("The store is closed.")
        self._waiting.append(job)
        self._wanted.set()
        return job.future

    async def close(self) -> None:
        """Writes all queued jobs, then closes the connection."""
        self._is_closed = True
        self._wanted.set()
        await self._task
        await close_quietly(self._connection)

    # --- the task -------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            while self._waiting:
                jobs = self._take()
                try:
                    await self._write(jobs)
                except Exception as failure:  # the lane must not end
                    if not isinstance(failure, StorageUnavailable):
                        _log.exception("A write has failed unexpectedly.")
                    if self._connection is None:
                        self._refuse_waiting(failure)
                    for job in jobs:
                        job.fail(failure)
                del jobs  # a long answer is not kept until the next job comes
            if self._is_closed:
                return

    def _refuse_waiting(self, failure: Exception) -> None:
        """Fails the jobs that were not sent: they have waited for the server as long as others."""
        for job in self._waiting:
            job.fail(failure)
        self._waiting.clear()

    def _take(self) -> list[Job[Any]]:
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

    async def _write(self, jobs: list[Job[Any]]) -> None:
        first = jobs[0]
        if isinstance(first, CommitJob):
            await self._commit([job for job in jobs if isinstance(job, CommitJob)])
        elif isinstance(first, SaveJob):
            await self._save([job for job in jobs if isinstance(job, SaveJob)])
        else:
            assert isinstance(first, Call)
            await self._call(first)

    # --- the connection -------------------------------------------------------------------------

    async def _connected(self, patience: float | None = None) -> DatabaseConnection:
        """Returns an open connection. Raises StorageUnavailable when its patience is over."""
        is_open = self._connection is not None and not self._connection.is_closed()
        if is_open and self._epoch.origin == self._shared.origin:
            return self._connection
        await self._drop()
        until = time.monotonic() + (self._shared.patience if patience is None else patience)
        pause = _RETRY
        while True:
            try:
                self._opened += 1
                connection = await connect(self._shared.address, WRITER, name=self._name)
                try:
                    with storage_errors(self._shared.address):
                        self._epoch = await self._shared.prepare(connection)
                except BaseException:
                    await close_quietly(connection)
                    raise
                self._connection = connection
                return connection
            except StorageUnavailable as failure:
                is_final = isinstance(failure, DatabaseUnavailable) and failure.is_final
                if is_final or time.monotonic() + pause > until or self._is_closed:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_RETRY)

    @property
    def _name(self) -> str:
        """Returns the name of the connection, by which the server ends it."""
        return f"{self._shared.name} {self._part} {self._opened}"

    def _check_origin(self) -> None:
        """Raises an error of a lost connection if the database was replaced meanwhile.

        What the old one has answered does not count: the new one is asked what it has.
        """
        if self._epoch.origin != self._shared.origin:
            raise ConnectionResetError("The database was replaced by another one.")

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    # --- commits --------------------------------------------------------------------------------

    async def _commit(self, jobs: list[CommitJob]) -> None:
        """Writes commits until each is written or refused."""
        while jobs:
            connection = await self._connected()
            is_sent = False
            try:
                async with _answer():
                    jobs = await self._known(connection, jobs)
                    if not jobs:
                        return
                    is_sent = True
                    done = await self._send(connection, jobs)
                self._check_origin()
            except Exception as failure:
                jobs = await self._after(failure, jobs, is_sent)
                continue
            left = []
            for place, job in enumerate(jobs, 1):
                if place in done:
                    self._is_written(job, *done[place])
                else:
                    left.append(job)
            jobs = await self._refuse(left) if left else []

    async def _after(
        self, failure: Exception, jobs: list[CommitJob], is_sent: bool
    ) -> list[CommitJob]:
        """Handles the failure of a whole batch. Returns the commits that are tried again."""
        if is_lost(failure):
            if is_sent:
                jobs = await self._settle(jobs)
            else:
                await self._drop()
            return self._again(jobs, failure)
        if isinstance(failure, TRANSIENT):
            return self._again(jobs, failure)
        if len(jobs) == 1:
            jobs[0].fail(self._in_our_words(failure))
        else:  # one of them is at fault, and the others are not to suffer for it
            for job in jobs:
                await self._commit([job])
        return []

    async def _known(
        self, connection: DatabaseConnection, jobs: list[CommitJob]
    ) -> list[CommitJob]:
        """Reads the versions of conversations that were claimed elsewhere; refuses missing ones."""
        versions = self._shared.versions
        unknown = [job.rows.name for job in jobs if versions.find(job.key) is None]
        if not unknown:
            return jobs
        await versions.read(connection, unknown)
        for job in jobs:
            if versions.find(job.key) is None:
                job.fail(Fenced(FENCED, fence=job.rows.claim.fence, newest=None))
        return [job for job in jobs if not job.future.done()]

    async def _send(
        self, connection: DatabaseConnection, jobs: Sequence[CommitJob]
    ) -> dict[int, tuple[int, int]]:
        """Sends a batch.

        Returns the new version and the number of the conversation of each commit that was written,
        by its place.
        """
        batch = [job.rows for job in jobs]
        tables = tables_of(batch)
        arguments = arguments_of(
            batch,
            [self._shared.versions.get(rows.name) for rows in batch],
            tables,
            part=self._part,
            audit_base=self._epoch.audit_base,
        )
        reach(CrashPoint.POSTGRES_SENDS)
        rows = await connection.fetch(statement_for(tables), *arguments)
        reach(CrashPoint.POSTGRES_SENT)
        return {row[0]: (row[1], row[2]) for row in rows}

    def _is_written(self, job: CommitJob, version: int, number: int | None) -> None:
        self._shared.versions.set(job.key, version, job.rows.state_bytes)
        self._index(job, number)
        job.succeed(None)

    def _index(self, job: CommitJob, number: int | None) -> None:
        rows = job.rows
        if rows.head > rows.before:
            self._shared.written(Written(rows.name, number, rows.head, rows.words))

    async def _refuse(self, jobs: list[CommitJob]) -> list[CommitJob]:
        """Says why commits were not written. Returns those whose version was out of date."""
        batch = [job.rows for job in jobs]
        try:
            connection = await self._connected()
            async with _answer():
                found = await doubt.read_rows(connection, batch)
        except Exception as failure:
            if not is_lost(failure):
                raise
            await self._drop()  # nothing is in doubt: they were not written
            found = await doubt.read_rows(await self._connected(), batch)
        again = []
        for job in jobs:
            rows, row = job.rows, found.get(job.key)
            if row is None or (row.fence, row.owner) != (rows.claim.fence, rows.owner):
                self._shared.versions.forget(job.key)
                newest = row and row.fence
                job.fail(Fenced(FENCED, fence=rows.claim.fence, newest=newest))
            elif row.head != rows.before:
                job.fail(
                    Conflict(f"The log ends at {row.head}, not at {rows.before}.", head=row.head)
                )
            elif self._shared.versions.get(job.key)[0] != row.version and job.tries < _TRIES:
                job.tries += 1
                self._shared.versions.set(job.key, row.version, row.state_bytes)
                again.append(job)
            else:
                job.fail(Conflict("A request is not open, or the receipt exists already."))
        return again

    def _again(self, jobs: list[CommitJob], failure: BaseException) -> list[CommitJob]:
        """Returns the jobs that are tried once more; fails the others."""
        left = []
        for job in jobs:
            job.tries += 1
            if job.tries <= _TRIES:
                left.append(job)
            else:
                job.fail(
                    StorageUnavailable(f"The database keeps failing: {type(failure).__name__}")
                )
        return left

    async def _settle(self, jobs: list[CommitJob]) -> list[CommitJob]:
        """Finds out which commits a lost connection has written, and answers those.

        Returns the others: they are certain not to be written. Waits as long as it takes: no
        answer could be given before.
        """
        lost = self._name
        await self._drop()
        settled: dict[str, doubt.Settled] | None = None
        while settled is None:
            try:
                connection = await self._connected()
                reach(CrashPoint.POSTGRES_SETTLES)
                async with _answer():
                    settled = await doubt.settle(
                        connection, [job.rows for job in jobs], self._shared.versions, lost
                    )
                reach(CrashPoint.POSTGRES_SETTLED)
            except Exception as failure:
                if self._is_closed:
                    raise StorageUnavailable(
                        "The store was closed before it was known whether this was written."
                    ) from failure
                if not isinstance(failure, (StorageUnavailable, *TRANSIENT)) and not is_lost(
                    failure
                ):
                    _log.warning("A commit in doubt cannot be settled yet: %s", failure)
                await self._drop()
                self._refuse_waiting(self._in_our_words(failure))
                await asyncio.sleep(_RETRY)
        left = []
        for job in jobs:
            match settled[job.key]:
                case doubt.Written(version):
                    if version is None:
                        self._shared.versions.forget(job.key)
                        self._index(job, None)
                        job.succeed(None)
                    else:
                        self._is_written(job, version, None)
                case doubt.NotWritten():
                    left.append(job)
                case doubt.Lost(newest):
                    self._shared.versions.forget(job.key)
                    job.fail(Fenced(FENCED, fence=job.rows.claim.fence, newest=newest))
        return left

    # --- partials -------------------------------------------------------------------------------

    async def _save(self, jobs: list[SaveJob]) -> None:
        """Saves pieces. A repeated save writes the same rows, so nothing is ever in doubt."""
        for attempt in range(_TRIES):
            connection = await self._connected()
            try:
                reach(CrashPoint.POSTGRES_SENDS)
                async with _answer():
                    saved = await save_all(connection, [(job.claim, job.partials) for job in jobs])
                reach(CrashPoint.POSTGRES_SENT)
                self._check_origin()
            except Exception as failure:
                if is_lost(failure):
                    await self._drop()
                elif not isinstance(failure, TRANSIENT):
                    raise self._in_our_words(failure) from failure
                if attempt == _TRIES - 1:
                    raise self._in_our_words(failure) from failure
                continue
            for place, job in enumerate(jobs, 1):
                if place in saved:
                    job.succeed(None)
                else:
                    job.fail(Fenced(FENCED))
            return

    # --- calls ----------------------------------------------------------------------------------

    async def _call(self, job: Call[Any]) -> None:
        for attempt in range(_TRIES):
            connection = await self._connected()
            self._begun += 1
            begun = doubt.Begun(f"{self._shared.name} {self._part}", self._begun)
            name = self._name
            try:
                if job.repeats:
                    reach(CrashPoint.POSTGRES_SENDS)
                    async with _answer():
                        result = await job.run(connection)
                    reach(CrashPoint.POSTGRES_SENT)
                else:
                    result = await doubt.in_transaction(connection, job.run, begun)
                self._check_origin()
            except Exception as failure:
                if is_lost(failure):
                    await self._drop()
                    if begun.is_in_doubt and await self._has_committed(begun, name):
                        job.succeed(begun.result)
                        return
                elif not isinstance(failure, TRANSIENT):
                    job.fail(self._in_our_words(failure))
                    return
                if attempt == _TRIES - 1:
                    job.fail(self._in_our_words(failure))
                    return
            else:
                job.succeed(result)
                return

    async def _has_committed(self, begun: doubt.Begun, lost: str) -> bool:
        while True:
            try:
                connection = await self._connected()
                reach(CrashPoint.POSTGRES_SETTLES)
                async with _answer():
                    is_written = await doubt.has_committed(connection, begun, lost)
                reach(CrashPoint.POSTGRES_SETTLED)
                return is_written
            except Exception as failure:
                if self._is_closed:
                    raise StorageUnavailable(
                        "The store was closed before it was known whether this was written."
                    ) from failure
                await self._drop()
                self._refuse_waiting(self._in_our_words(failure))
                await asyncio.sleep(_RETRY)

    def _in_our_words(self, failure: Exception) -> Exception:
        try:
            with storage_errors(self._shared.address):
                raise failure
        except Exception as said:
            return said
