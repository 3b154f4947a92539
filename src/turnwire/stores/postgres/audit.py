"""Numbers of the audit trail that follow the order of transactions.

A sequence gives numbers in the order in which rows are written, and rows become visible in the
order in which transactions end: a reader who continues after the last number would miss rows. So a
number is made of the id of its transaction and the place of the row in it. A reader sees only rows
of transactions that are older than every running one: no smaller number can appear any more.
"""

from __future__ import annotations

import asyncio
import time

from turnwire.stores.postgres.connection import DatabaseConnection

__all__ = ["MOST_ROWS", "NUMBER", "settled_number"]

MOST_ROWS = 4096  # rows of one transaction

# `base` is raised when a copy of the database begins again with small transaction ids.
NUMBER = f"{{base}} + pg_current_xact_id()::text::bigint * {MOST_ROWS} + {{nth}} - 1"

_PATIENCE = 1.0  # seconds to wait for transactions that run when a read begins
_INTERVAL = 0.002


async def settled_number(connection: DatabaseConnection, base: int) -> int:
    """Returns the number below which the trail does not change any more.

    Waits for transactions that run now, so that a caller sees what it has written before. They are
    short. A transaction of another program that takes longer delays what is newer than it.
    """
    until = time.monotonic() + _PATIENCE
    wanted: int | None = None
    while True:
        oldest, newest = await connection.fetchrow(
            "SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint"
            " FROM pg_current_snapshot() AS s"
        )
        wanted = newest if wanted is None else wanted
        if oldest >= wanted or time.monotonic() > until:
            return int(base + oldest * MOST_ROWS)
        await asyncio.sleep(_INTERVAL)
