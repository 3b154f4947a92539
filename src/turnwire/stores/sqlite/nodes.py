"""Rows of nodes: the processes that share the file, and what those that have died have left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from turnwire.core.text import clean, json_text
from turnwire.ports import NodeRow
from turnwire.stores.records import node_of
from turnwire.stores.sqlite.schema import NEWEST

__all__ = [
    "HELD_UNTIL",
    "add_node",
    "find_abandoned",
    "find_nodes",
    "find_overdue",
    "find_owned",
    "mark_deadlines",
    "remove_node",
    "renew_node",
]

# The end of the lease of the conversation `c`, or of its owner's node, whichever is later.
HELD_UNTIL = (
    "max(c.lease_until,"
    " coalesce((SELECT n.lease_until FROM nodes AS n WHERE n.owner = c.owner), 0))"
)


def add_node(db: apsw.Cursor, node: NodeRow, now: int, lease: int) -> None:
    """Adds a node, or renews its lease if it is known."""
    db.execute(
        "INSERT INTO nodes (owner, node, inbox, agents, versions, started_at, lease_until, load)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (owner) DO UPDATE SET lease_until = excluded.lease_until",
        (
            clean(node.owner),
            clean(node.node),
            clean(node.inbox),
            json_text(node.agents),
            json_text({**node.versions, "schema": str(NEWEST)}),
            node.started_at,
            now + lease,
            json_text(node.load),
        ),
    )


def renew_node(
    db: apsw.Cursor, owner: str, now: int, lease: int, load: dict[str, int] | None
) -> bool:
    """Renews the lease of a node. Returns False if there is no such node."""
    db.execute(
        "UPDATE nodes SET lease_until = ?, renewals = renewals + 1, load = coalesce(?, load)"
        " WHERE owner = ?",
        (now + lease, None if load is None else json_text(load), clean(owner)),
    )
    return bool(db.connection.changes())


def remove_node(db: apsw.Cursor, owner: str) -> None:
    """Removes a node."""
    db.execute("DELETE FROM nodes WHERE owner = ?", (clean(owner),))


def find_nodes(db: apsw.Connection) -> list[NodeRow]:
    """Returns the nodes, the oldest first."""
    found = db.execute(
        "SELECT owner, node, inbox, agents, versions, started_at, lease_until, renewals, load"
        " FROM nodes ORDER BY started_at, owner"
    ).fetchall()
    return [node_of(row) for row in found]


def find_owned(db: apsw.Connection, owner: str) -> dict[str, bool]:
    """Returns the conversations that an owner has claimed, and whether each is archived."""
    found: list[Any] = db.execute(
        "SELECT conversation_id, archived FROM conversations"
        " WHERE owner = ? ORDER BY conversation_id",
        (clean(owner),),
    ).fetchall()
    return {conversation_id: bool(archived) for conversation_id, archived in found}


# Finds each owner once, by the index, and then the conversations of those that have died.
ABANDONED = """
WITH RECURSIVE owners (owner) AS (
    SELECT min(owner) FROM conversations WHERE owner IS NOT NULL
    UNION ALL
    SELECT (SELECT min(c.owner) FROM conversations AS c WHERE c.owner > owners.owner)
    FROM owners WHERE owners.owner IS NOT NULL
)
SELECT c.conversation_id FROM owners CROSS JOIN conversations AS c
WHERE c.owner = owners.owner
    AND NOT EXISTS (SELECT 1 FROM nodes AS n WHERE n.owner = owners.owner AND n.lease_until > ?1)
    AND c.lease_until <= ?1 AND c.conversation_id > ?2
    AND c.agent NOT IN (SELECT value FROM json_each(?3))
ORDER BY c.conversation_id LIMIT ?4
"""


def find_abandoned(
    db: apsw.Connection, now: int, except_agents: Sequence[str], after: str, limit: int
) -> list[str]:
    """Returns conversations whose owner has let its leases expire."""
    values = (now, clean(after), json_text(list(except_agents)), limit)
    found: list[Any] = db.execute(ABANDONED, values).fetchall()
    return [conversation_id for (conversation_id,) in found]


OVERDUE = f"""
SELECT r.conversation_id, r.request_id
FROM requests AS r INDEXED BY requests_by_deadline
    CROSS JOIN conversations AS c USING (conversation_id)
WHERE r.outcome IS NULL AND r.deadline_at IS NOT r.deadline_done AND r.deadline_at <= ?1
    AND NOT c.archived AND (c.owner IS NULL OR {HELD_UNTIL} <= ?2)
    AND r.conversation_id > ?3 AND c.agent IN (SELECT value FROM json_each(?4))
ORDER BY r.conversation_id, r.request_id LIMIT ?5
"""


def find_overdue(
    db: apsw.Connection, at: str, now: int, agents: Sequence[str], after: str, limit: int
) -> list[tuple[str, str]]:
    """Returns open requests whose deadline has passed, of conversations that no owner holds."""
    values = (at, now, clean(after), json_text(list(agents)), limit)
    found: list[Any] = db.execute(OVERDUE, values).fetchall()
    return found


def mark_deadlines(db: apsw.Cursor, requests: Sequence[tuple[str, str]]) -> None:
    """Marks deadlines as done."""
    db.executemany(
        "UPDATE requests SET deadline_done = deadline_at"
        " WHERE conversation_id = ? AND request_id = ?",
        [(clean(name), clean(request)) for name, request in requests],
    )
