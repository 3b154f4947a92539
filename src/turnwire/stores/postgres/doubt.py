"""Settles doubt: finds out what a lost connection has written, before anyone is answered.

A connection that ends during a commit leaves it written or not. For a batch, the version of each
conversation says which. The check raises the version in the same statement: it waits for a backend
that is about to commit, and a statement that arrives later finds another version and writes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from turnwire.crash_points import CrashPoint, reach
from turnwire.stores.postgres.commit import CommitRows
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.text import storable
from turnwire.stores.postgres.versions import Versions

__all__ = [
    "Begun",
    "Lost",
    "NotWritten",
    "Settled",
    "Written",
    "forget_lanes",
    "has_committed",
    "in_transaction",
    "read_rows",
    "settle",
]

T = TypeVar("T")

# Added to a version by each check. A commit adds 1, so the rest says whether it was written, however
# often the check was repeated.
_CHECKED = 1 << 20


class Found(Struct, frozen=True):
    """The row of a conversation, as far as commits check it."""

    fence: int
    owner: str | None
    head: int
    version: int
    state_bytes: int
    claimed_version: int  # at the newest claim


class Written(Struct, frozen=True):
    """The commit is durable."""

    version: int | None  # of its conversation; None: another owner has the conversation now


class NotWritten(Struct, frozen=True):
    """The commit is not written, and never will be."""


class Lost(Struct, frozen=True):
    """The commit is not written, and another owner has the conversation."""

    newest: int | None  # its fence; None: the conversation was deleted


Settled: TypeAlias = Written | NotWritten | Lost


async def read_rows(
    connection: DatabaseConnection, batch: Sequence[CommitRows]
) -> dict[str, Found]:
    """Returns the rows of the conversations of a batch, by name."""
    rows = await connection.fetch(
        "SELECT conversation_id, fence, owner, head, version, octet_length(state_json),"
        " claimed_version FROM conversations WHERE conversation_id = ANY($1::text[])",
        [commit.name for commit in batch],
    )
    return {row[0]: Found(*row[1:]) for row in rows}


_RAISE = f"""
UPDATE conversations c SET version = c.version + {_CHECKED}
FROM unnest($1::text[], $2::bigint[], $3::text[]) AS a(conversation_id, fence, owner)
WHERE c.conversation_id = ANY($1::text[]) AND c.conversation_id = a.conversation_id
    AND c.fence = a.fence AND c.owner = a.owner
RETURNING c.conversation_id, c.version, octet_length(c.state_json)
"""


async def settle(
    connection: DatabaseConnection, batch: Sequence[CommitRows], versions: Versions, lost: str
) -> dict[str, Settled]:
    """Returns for each commit of a lost connection, by conversation, what has become of it."""
    await end_backend(connection, lost)
    rows = await connection.fetch(
        _RAISE,
        [commit.name for commit in batch],
        [commit.claim.fence for commit in batch],
        [commit.owner for commit in batch],
    )
    raised = {row[0]: (row[1], row[2]) for row in rows}
    settled: dict[str, Settled] = {}
    others = []
    for commit in batch:
        if commit.name not in raised:
            others.append(commit)
            continue
        version, state_bytes = raised[commit.name]
        before, _ = versions.get(commit.name)
        versions.set(commit.name, version, state_bytes)
        is_written = (version - before) % _CHECKED != 0
        settled[commit.name] = Written(version) if is_written else NotWritten()
    if others:
        found = await read_rows(connection, others)
        for commit in others:
            row = found.get(commit.name)
            if row is not None and await _is_there(connection, commit, row, versions):
                settled[commit.name] = Written(None)
            else:
                settled[commit.name] = Lost(None if row is None else row.fence)
    return settled


async def _is_there(
    connection: DatabaseConnection, commit: CommitRows, row: Found, versions: Versions
) -> bool:
    """Returns whether a commit is stored whose conversation has another owner now.

    Only the owner commits, so the version at the claim of the next owner says it. After several
    claims that version is lost, and the rows of the commit are looked for. A commit without an entry
    and a receipt leaves no row of its own: if a later owner has changed the state, the answer is
    False although it may be stored. Then its caller gets Fenced, and gives the conversation up as it
    has to anyway; no client waits for such a commit.
    """
    known = versions.find(commit.name)
    if known is not None:
        if (row.claimed_version - known[0]) % _CHECKED == 0:
            return False
        if row.fence == commit.claim.fence + 1:
            return True
    entries = commit.rows.get("entries")
    if entries:
        same = "SELECT message_json = $3 FROM messages WHERE conversation_id = $1 AND sequence_num = $2"
        return bool(
            await connection.fetchval(same, commit.name, entries[0][0], storable(entries[0][3]))
        )
    receipts = commit.rows.get("receipts")
    if receipts:
        user, message_id = map(storable, receipts[0][:2])
        there = (
            'SELECT true FROM receipts WHERE conversation_id = $1 AND "user" = $2'
            " AND client_message_id = $3"
        )
        return bool(await connection.fetchval(there, commit.name, user, message_id))
    same = "SELECT state_json = $2 FROM conversations WHERE conversation_id = $1"
    return bool(await connection.fetchval(same, commit.name, commit.state_json))


async def end_backend(connection: DatabaseConnection, name: str) -> None:
    """Ends the backend of a lost connection, which may not have noticed. Needs no rights."""
    await connection.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = $1 AND usename = current_user AND pid <> pg_backend_pid()",
        name,
    )


# --- transactions of several statements -----------------------------------------------------------


# Its statements concern few rows, so they are planned as usual, and not as a batch is.
_BEGIN = """
INSERT INTO lanes (name, number) VALUES ($1, $2)
ON CONFLICT (name) DO UPDATE SET number = excluded.number, at = now()
RETURNING set_config('enable_nestloop', 'on', true), set_config('plan_cache_mode', 'auto', true)
"""
# Waits for the transaction, if it is still in progress. A write, so that with synchronous
# replication the standby has the transaction, too, when this is answered.
_NEWEST = """
INSERT INTO lanes AS l (name, number) VALUES ($1, 0)
ON CONFLICT (name) DO UPDATE SET number = l.number RETURNING number
"""


class Begun:
    """A transaction of a lane: its number, and its result once it is about to commit."""

    def __init__(self, lane: str, number: int) -> None:
        self.lane = lane
        self.number = number
        self.is_in_doubt = False
        self.result: Any = None


async def in_transaction(
    connection: DatabaseConnection,
    run: Callable[[DatabaseConnection], Awaitable[T]],
    begun: Begun,
) -> T:
    """Runs a function in a transaction that writes its number."""
    async with connection.transaction():
        await connection.fetchrow(_BEGIN, begun.lane, begun.number)
        begun.result = result = await run(connection)
        begun.is_in_doubt = True
        reach(CrashPoint.POSTGRES_COMMITS)
    reach(CrashPoint.POSTGRES_COMMITTED)
    return result


async def has_committed(connection: DatabaseConnection, begun: Begun, lost: str) -> bool:
    """Returns whether a transaction was committed; waits while it is in progress."""
    await end_backend(connection, lost)
    newest: int = await connection.fetchval(_NEWEST, begun.lane)
    return newest == begun.number


async def forget_lanes(connection: DatabaseConnection) -> None:
    """Deletes the rows of lanes that have written nothing for a day; most ended long ago."""
    await connection.execute("DELETE FROM lanes WHERE at < now() - interval '1 day'")
