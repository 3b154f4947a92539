"""Writes batches of commits: each commit is written once, or refused, and then answered."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from turnwire.crash_points import CrashPoint, reach
from turnwire.ports import Conflict, Fenced, StorageUnavailable
from turnwire.stores.postgres import doubt
from turnwire.stores.postgres.batch import arguments_of, statement_for, tables_of
from turnwire.stores.postgres.connection import TRANSIENT, DatabaseConnection, is_lost
from turnwire.stores.postgres.jobs import CommitJob, JobQueue
from turnwire.stores.postgres.lane_connection import LaneConnection, Shared, answer_in_time
from turnwire.stores.postgres.search import Written

__all__ = ["FENCED", "TRIES", "CommitWriter"]

_log = logging.getLogger("turnwire")

TRIES = 5  # of what was rolled back for no fault of its own
FENCED = "Another owner has taken the conversation over, or it was deleted."


class CommitWriter:
    """Writes the commits of one lane."""

    def __init__(self, shared: Shared, part: int, link: LaneConnection, queue: JobQueue) -> None:
        self._shared = shared
        self._part = part
        self._link = link
        self._queue = queue

    async def write(self, jobs: list[CommitJob]) -> None:
        """Writes commits until each is written or refused."""
        while jobs:
            connection = await self._link.open()
            is_sent = False
            try:
                async with answer_in_time():
                    jobs = await self._known(connection, jobs)
                    if not jobs:
                        return
                    is_sent = True
                    done = await self._send(connection, jobs)
                self._link.check_origin()
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
                await self._link.drop()
            return self._again(jobs, failure)
        if isinstance(failure, TRANSIENT):
            return self._again(jobs, failure)
        if len(jobs) == 1:
            jobs[0].fail(self._link.in_our_words(failure))
        else:  # one of them is at fault, and the others are not to suffer for it
            for job in jobs:
                await self.write([job])
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
            audit_base=self._link.epoch.audit_base,
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
            connection = await self._link.open()
            async with answer_in_time():
                found = await doubt.read_rows(connection, batch)
        except Exception as failure:
            if not is_lost(failure):
                raise
            await self._link.drop()  # nothing is in doubt: they were not written
            found = await doubt.read_rows(await self._link.open(), batch)
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
            elif self._shared.versions.get(job.key)[0] != row.version and job.tries < TRIES:
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
            if job.tries <= TRIES:
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
        lost = self._link.name
        await self._link.drop()
        settled: dict[str, doubt.Settled] | None = None
        retries = self._shared.outage.retries()
        while settled is None:
            try:
                connection = await self._link.open()
                reach(CrashPoint.POSTGRES_SETTLES)
                async with answer_in_time():
                    settled = await doubt.settle(
                        connection, [job.rows for job in jobs], self._shared.versions, lost
                    )
                reach(CrashPoint.POSTGRES_SETTLED)
            except Exception as failure:
                if self._queue.is_closed:
                    raise StorageUnavailable(
                        "The store was closed before it was known whether this was written."
                    ) from failure
                if not isinstance(failure, (StorageUnavailable, *TRANSIENT)) and not is_lost(
                    failure
                ):
                    _log.warning("A commit in doubt cannot be settled yet: %s", failure)
                await self._link.drop()
                self._queue.refuse_all(self._link.in_our_words(failure))
                await retries.pause()
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
