"""Rows of connections: which client follows which conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec import structs

from turnwire.core.times import iso
from turnwire.ports import Connection
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.text import readable, stored_text

__all__ = ["add_connections", "find_connections", "remove_connections"]

# Reports have the time of the server. Callers see the time by their own clock.
_NOW = """to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"""
# Skips connections whose conversation was deleted meanwhile.
_ADD = f"""
INSERT INTO connection_sessions (connection_id, conversation_id, owner, client_id, "user", protocol,
    opened_at, seen_at, last_sequence)
SELECT connection_id, conversation_id, owner, client_id, "user", protocol, opened_at,
    coalesce(seen_at, {_NOW}), last_sequence
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::bigint[])
    AS x(connection_id, conversation_id, owner, client_id, "user", protocol, opened_at, seen_at,
        last_sequence)
JOIN (
    SELECT conversation_id FROM conversations WHERE conversation_id = ANY($2::text[])
    ORDER BY conversation_id FOR KEY SHARE
) AS c USING (conversation_id)
ON CONFLICT (connection_id) DO UPDATE SET
    seen_at = excluded.seen_at, last_sequence = excluded.last_sequence
"""


async def add_connections(
    db: DatabaseConnection, connections: Sequence[Connection], *, uses_callers_time: bool
) -> None:
    """Adds or updates connections."""
    newest = {each.connection_id: each for each in connections}
    rows = [
        (
            *map(stored_text, (each.connection_id, each.conversation_id, each.owner)),
            *map(stored_text, (each.client_id, each.user, each.protocol)),
            *(each.opened_at, each.seen_at if uses_callers_time else None, each.last_sequence),
        )
        for each in newest.values()
    ]
    if rows:
        await db.execute(_ADD, *(list(column) for column in zip(*rows, strict=True)))


async def remove_connections(db: DatabaseConnection, connection_ids: Sequence[str]) -> None:
    """Removes connections."""
    await db.execute(
        "DELETE FROM connection_sessions WHERE connection_id = ANY($1::text[])",
        [stored_text(each) for each in connection_ids],
    )


_FIND = """
SELECT connection_id, conversation_id, owner, client_id, opened_at, seen_at, "user", protocol,
    last_sequence, (extract(epoch FROM clock_timestamp() - seen_at::timestamptz) * 1000)::bigint
FROM connection_sessions
WHERE $1::text IS NULL OR conversation_id = $1 ORDER BY opened_at, connection_id
"""


async def find_connections(
    db: DatabaseConnection, conversation_id: str | None, *, uses_callers_time: bool
) -> list[Connection]:
    """Returns the connections of one conversation or of all, the oldest first."""
    rows = await db.fetch(_FIND, stored_text(conversation_id))
    now = time.time_ns() // 1_000_000
    found = []
    for row in rows:
        *facts, age = readable(row)
        connection = Connection(*facts)
        if not uses_callers_time:
            connection = structs.replace(connection, seen_at=iso(now - age))
        found.append(connection)
    return found
