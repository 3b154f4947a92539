"""Rows of connections: which client follows which conversation."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from turnwire.core.text import clean, json_text
from turnwire.ports import Connection

__all__ = ["add_connections", "find_connections", "remove_connections"]

# In one statement, whatever their number. Skips connections whose conversation was deleted meanwhile.
_ADD = """
INSERT INTO connection_sessions (
    connection_id, conversation_id, owner, client_id, user, protocol, opened_at, seen_at,
    last_sequence
)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
    value ->> 7, value ->> 8
FROM json_each(?)
WHERE EXISTS (SELECT 1 FROM conversations WHERE conversation_id = value ->> 1)
ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at, last_sequence = excluded.last_sequence
"""


def add_connections(db: apsw.Cursor, connections: Sequence[Connection]) -> None:
    """Adds or updates connections."""
    rows = [
        (
            *(each.connection_id, each.conversation_id, each.owner, each.client_id),
            *(each.user, each.protocol, each.opened_at, each.seen_at, each.last_sequence),
        )
        for each in connections
    ]
    db.execute(_ADD, (json_text(rows),))


def remove_connections(db: apsw.Cursor, connection_ids: Sequence[str]) -> None:
    """Removes connections."""
    db.execute(
        "DELETE FROM connection_sessions WHERE connection_id IN (SELECT value FROM json_each(?))",
        (json_text(connection_ids),),
    )


def find_connections(db: apsw.Connection, conversation_id: str | None) -> list[Connection]:
    """Returns the connections of one conversation or of all, the oldest first."""
    found = db.execute(
        "SELECT connection_id, conversation_id, owner, client_id, opened_at, seen_at, user,"
        " protocol, last_sequence FROM connection_sessions"
        " WHERE ?1 IS NULL OR conversation_id = ?1 ORDER BY opened_at, connection_id",
        (clean(conversation_id),),
    )
    return [Connection(*row) for row in found]
