"""Cuts the connections of a day to PostgreSQL in the middle of commits, again and again.

The journal gets a line when commits are in doubt, and another one when they are certain.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from tests.prove.helpers.journal import Certain, InDoubt, Journal
from tests.stores.postgres.faults import Lost, Proxy
from turnwire.stores.postgres.commit_writer import CommitWriter
from turnwire.stores.postgres.doubt import Begun
from turnwire.stores.postgres.jobs import CommitJob
from turnwire.stores.postgres.lane import Lane

__all__ = ["losing_connections"]

EVERY = 15  # batches


@asynccontextmanager
async def losing_connections(address: str, journal: Journal) -> AsyncIterator[Proxy]:
    """Yields a proxy to the same database that cuts its connections.

    The request is lost, or the answer to it: so some commits are written, and others are not.
    """
    lost: itertools.cycle[Lost] = itertools.cycle(["answer", "request"])
    batches = itertools.count(1)
    real, real_settle, real_call = CommitWriter._send, CommitWriter._settle, Lane._has_committed
    pid = os.getpid()
    async with Proxy(address) as proxy:

        async def send(
            self: CommitWriter, connection: Any, jobs: Sequence[CommitJob]
        ) -> dict[int, tuple[int, int]]:
            if next(batches) % EVERY == 0:
                proxy.cut(next(lost))
            return await real(self, connection, jobs)

        async def settle(self: CommitWriter, jobs: list[CommitJob]) -> list[CommitJob]:
            count = len(jobs)
            journal.write(InDoubt(pid=pid, commits=count))
            left = await real_settle(self, jobs)
            journal.write(Certain(pid=pid, commits=count))
            return left

        async def has_committed(self: Lane, begun: Begun, lost: str) -> bool:
            journal.write(InDoubt(pid=pid, commits=1))
            is_written = await real_call(self, begun, lost)
            journal.write(Certain(pid=pid, commits=1))
            return is_written

        CommitWriter._send = send  # type: ignore[method-assign]
        CommitWriter._settle = settle  # type: ignore[method-assign]
        Lane._has_committed = has_committed  # type: ignore[method-assign]
        try:
            yield proxy
        finally:
            CommitWriter._send = real  # type: ignore[method-assign]
            CommitWriter._settle = real_settle  # type: ignore[method-assign]
            Lane._has_committed = real_call  # type: ignore[method-assign]
