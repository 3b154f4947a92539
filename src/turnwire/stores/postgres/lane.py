"""A lane: one connection that writes what is asked for, in order, many commits at once.

A conversation always uses the same lane, so its writes keep their order. A lane takes everything
that was asked for since it last looked, and sends it as one statement.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, TypeVar

from turnwire.crash_points import CrashPoint, reach
from turnwire.ports import Fenced, StorageUnavailable
from turnwire.stores.postgres import doubt
from turnwire.stores.postgres.commit_writer import FENCED, TRIES, CommitWriter
from turnwire.stores.postgres.connection import TRANSIENT, is_lost
from turnwire.stores.postgres.jobs import Call, CommitJob, Job, JobQueue, SaveJob
from turnwire.stores.postgres.lane_connection import LaneConnection, Shared, answer_in_time
from turnwire.stores.postgres.partials import save_all

__all__ = ["Lane"]

T = TypeVar("T")
_log = logging.getLogger("turnwire")


class Lane:
    """Writes jobs in order of arrival, each once, and answers when it is certain."""

    def __init__(self, shared: Shared, part: int) -> None:
        self._shared = shared
        self._part = part
        self._queue = JobQueue()
        self._link = LaneConnection(shared, part, self._queue)
        self._commits = CommitWriter(shared, part, self._link, self._queue)
        self._begun = 0  # transactions so far
        self._task = asyncio.get_running_loop().create_task(self._work())

    def submit(self, job: Job[T]) -> asyncio.Future[T]:
        """Queues a job. Its future is done when the job is durable, or has failed."""
        self._queue.add(job)
        return job.future

    async def close(self) -> None:
        """Writes all queued jobs, then closes the connection."""
        self._queue.close()
        await self._task
        await self._link.close()

    # --- the task -------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            await self._queue.wait()
            while self._queue:
                jobs = self._queue.take()
                try:
                    await self._write(jobs)
                except Exception as failure:  # the lane must not end
                    if not isinstance(failure, StorageUnavailable):
                        _log.exception("A write has failed unexpectedly.")
                    if self._link.is_lost:
                        self._queue.refuse_all(failure)
                    for job in jobs:
                        job.fail(failure)
                del jobs  # a long answer is not kept until the next job comes
            if self._queue.is_closed:
                return

    async def _write(self, jobs: list[Job[Any]]) -> None:
        first = jobs[0]
        if isinstance(first, CommitJob):
            await self._commits.write([job for job in jobs if isinstance(job, CommitJob)])
        elif isinstance(first, SaveJob):
            await self._save([job for job in jobs if isinstance(job, SaveJob)])
        else:
            assert isinstance(first, Call)
            await self._call(first)

    # --- partials -------------------------------------------------------------------------------

    async def _save(self, jobs: list[SaveJob]) -> None:
        """Saves pieces. A repeated save writes the same rows, so nothing is ever in doubt."""
        for attempt in range(TRIES):
            connection = await self._link.open()
            try:
                reach(CrashPoint.POSTGRES_SENDS)
                async with answer_in_time():
                    saved = await save_all(connection, [(job.claim, job.partials) for job in jobs])
                reach(CrashPoint.POSTGRES_SENT)
                self._link.check_origin()
            except Exception as failure:
                if is_lost(failure):
                    await self._link.drop()
                elif not isinstance(failure, TRANSIENT):
                    raise self._link.in_our_words(failure) from failure
                if attempt == TRIES - 1:
                    raise self._link.in_our_words(failure) from failure
                continue
            for place, job in enumerate(jobs, 1):
                if place in saved:
                    job.succeed(None)
                else:
                    job.fail(Fenced(FENCED))
            return

    # --- calls ----------------------------------------------------------------------------------

    async def _call(self, job: Call[Any]) -> None:
        for attempt in range(TRIES):
            connection = await self._link.open()
            self._begun += 1
            begun = doubt.Begun(f"{self._shared.name} {self._part}", self._begun)
            name = self._link.name
            try:
                if job.repeats:
                    reach(CrashPoint.POSTGRES_SENDS)
                    async with answer_in_time():
                        result = await job.run(connection)
                    reach(CrashPoint.POSTGRES_SENT)
                else:
                    result = await doubt.in_transaction(connection, job.run, begun)
                self._link.check_origin()
            except Exception as failure:
                if is_lost(failure):
                    await self._link.drop()
                    if begun.is_in_doubt and await self._has_committed(begun, name):
                        job.succeed(begun.result)
                        return
                elif not isinstance(failure, TRANSIENT):
                    job.fail(self._link.in_our_words(failure))
                    return
                if attempt == TRIES - 1:
                    job.fail(self._link.in_our_words(failure))
                    return
            else:
                job.succeed(result)
                return

    async def _has_committed(self, begun: doubt.Begun, lost: str) -> bool:
        retries = self._shared.outage.retries()
        while True:
            try:
                connection = await self._link.open()
                reach(CrashPoint.POSTGRES_SETTLES)
                async with answer_in_time():
                    is_written = await doubt.has_committed(connection, begun, lost)
                reach(CrashPoint.POSTGRES_SETTLED)
                return is_written
            except Exception as failure:
                if self._queue.is_closed:
                    raise StorageUnavailable(
                        "The store was closed before it was known whether this was written."
                    ) from failure
                await self._link.drop()
                self._queue.refuse_all(self._link.in_our_words(failure))
                await retries.pause()
