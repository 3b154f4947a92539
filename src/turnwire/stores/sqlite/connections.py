"""Rows of connections: which client follows which conversation."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from turnwire.core.text import clean
from turnwire.ports import Connection

__all__ = ["add_connections", "find_connections", "remove_connections"]

# Skips connections whose conversation was deleted meanwhile.
_ADD = """
INSERT INTO connection_sessions (
    connection_id, conversation_id, owner, client_id, user, protocol, opened_at, seen_at,
    last_sequence
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
WHERE EXISTS (SELECT 1 FROM conversations WHERE conversation_id = ?2)
ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at, last_sequence = excluded.last_sequence
"""


def add_connections(db: apsw.Cursor, connections: Sequence[Connection]) -> None:
    """Adds or updates connections."""
    for each in connections:
        db.execute(
            _ADD,
            (
                clean(each.connection_id),
                clean(each.conversation_id),
                clean(each.owner),
                clean(each.client_id),
                clean(each.user),
                clean(each.protocol),
                each.opened_at,
                each.seen_at,
                each.last_sequence,
            ),
        )


def remove_connections(db: apsw.Cursor, connection_ids: Sequence[str]) -> None:
    """Removes connections."""
    for connection_id in connection_ids:
        db.execute(
            "DELETE FROM connection_sessions WHERE connection_id = ?", (clean(connection_id),)
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
