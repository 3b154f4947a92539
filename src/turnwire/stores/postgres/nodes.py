"""Rows of nodes: the processes that share the database, and what those that have died have left.

Leases follow the clock of the database server, because the clocks of the nodes may differ. The rows
that a node reads have times of its own clock.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnwire.core.text import json_text
from turnwire.ports import NodeRow
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.schema import newest
from turnwire.stores.postgres.text import readable, stored_text
from turnwire.stores.records import node_of

__all__ = [
    "HELD_UNTIL",
    "NOW",
    "SHIFT",
    "add_node",
    "expel_node",
    "find_abandoned",
    "find_nodes",
    "find_overdue",
    "find_owned",
    "mark_deadlines",
    "remove_node",
    "renew_node",
]

_OWN_TIME = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
# The server's own time, unless the caller's is to be used.
NOW = f"coalesce({{now}}::bigint, {_OWN_TIME})"
# From the server's time to that of the caller; nothing if the caller's time is used for leases.
SHIFT = f"coalesce({{clock}}::bigint - {_OWN_TIME}, 0)"

# The end of the lease of the conversation `c`, or of its owner's node, whichever is later.
HELD_UNTIL = """
greatest(c.lease_until, (SELECT n.lease_until FROM nodes AS n WHERE n.owner = c.owner))
"""

_JOIN = f"""
INSERT INTO nodes (owner, node, inbox, agents, versions, started_at, load, lease_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, {NOW.format(now="$8")} + $9)
ON CONFLICT (owner) DO UPDATE SET lease_until = excluded.lease_until
"""
_RENEW = f"""
UPDATE nodes SET lease_until = {NOW.format(now="$2")} + $3, renewals = renewals + 1,
    load = coalesce($4, load)
WHERE owner = $1 RETURNING true
"""


async def add_node(db: DatabaseConnection, node: NodeRow, now: int | None, lease: int) -> None:
    """Adds a node, or renews its lease if it is known."""
    schema = newest()
    versions = {**node.versions, "schema": f"{schema.pre}.{schema.post}"}
    texts = (node.owner, node.node, node.inbox, json_text(node.agents), json_text(versions))
    rest = (node.started_at, json_text(node.load), now, lease)
    await db.execute(_JOIN, *map(stored_text, texts), *rest)


async def renew_node(
    db: DatabaseConnection, owner: str, now: int | None, lease: int, load: dict[str, int] | None
) -> bool:
    """Renews the lease of a node. Returns False if there is no such node."""
    said = None if load is None else json_text(load)
    return bool(await db.fetchval(_RENEW, stored_text(owner), now, lease, said))


async def remove_node(db: DatabaseConnection, owner: str) -> None:
    """Removes a node."""
    await db.execute("DELETE FROM nodes WHERE owner = $1", stored_text(owner))


async def expel_node(db: DatabaseConnection, owner: str, now: int | None) -> None:
    """Removes the node of a stored owner if its lease has expired; waits for a renewal."""
    sql = f"DELETE FROM nodes WHERE owner = $1 AND lease_until <= {NOW.format(now='$2')}"
    await db.execute(sql, owner, now)


async def find_nodes(db: DatabaseConnection, clock: int | None) -> list[NodeRow]:
    """Returns the nodes, the oldest first."""
    rows = await db.fetch(
        "SELECT owner, node, inbox, agents, versions, started_at,"
        f" lease_until + {SHIFT.format(clock='$1')}, renewals, load"
        " FROM nodes ORDER BY started_at, owner",
        clock,
    )
    return [node_of(readable(row)) for row in rows]


async def find_owned(db: DatabaseConnection, owner: str) -> dict[str, bool]:
    """Returns the conversations that an owner has claimed, and whether each is archived."""
    rows = await db.fetch(
        "SELECT conversation_id, archived FROM conversations"
        " WHERE owner = $1 ORDER BY conversation_id",
        stored_text(owner),
    )
    return dict(readable(row) for row in rows)


# Finds each owner once, by the index, and then the conversations of those that have died.
ABANDONED = f"""
WITH RECURSIVE owners AS (
    (SELECT owner FROM conversations WHERE owner IS NOT NULL ORDER BY owner LIMIT 1)
    UNION ALL
    SELECT (
        SELECT c.owner FROM conversations AS c
        WHERE c.owner > owners.owner ORDER BY c.owner LIMIT 1
    ) FROM owners WHERE owners.owner IS NOT NULL
)
SELECT found.conversation_id FROM owners CROSS JOIN LATERAL (
    SELECT c.conversation_id FROM conversations AS c
    WHERE c.owner = owners.owner AND c.conversation_id > $2
        AND c.lease_until <= {NOW.format(now="$1")} AND c.agent <> ALL ($3::text[])
    ORDER BY c.conversation_id LIMIT $4
) AS found
WHERE owners.owner IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM nodes AS n
    WHERE n.owner = owners.owner AND n.lease_until > {NOW.format(now="$1")}
)
ORDER BY found.conversation_id LIMIT $4
"""


async def find_abandoned(
    db: DatabaseConnection, now: int | None, except_agents: Sequence[str], after: str, limit: int
) -> list[str]:
    """Returns conversations whose owner has let its leases expire."""
    agents = [stored_text(agent) for agent in except_agents]
    rows = await db.fetch(ABANDONED, now, stored_text(after), agents, limit)
    return [readable(row)[0] for row in rows]


# Stable in a statement, so that the index can be used; `clock_timestamp` is not.
_ISO = "to_char(statement_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"
OVERDUE = f"""
SELECT r.conversation_id, r.request_id FROM requests AS r
JOIN conversations AS c ON c.conversation_id = r.conversation_id
WHERE r.outcome IS NULL AND r.deadline_at IS DISTINCT FROM r.deadline_done
    AND r.deadline_at <= coalesce($1::text, {_ISO})
    AND NOT c.archived AND (c.owner IS NULL OR {HELD_UNTIL} <= {NOW.format(now="$2")})
    AND r.conversation_id > $3 AND c.agent = ANY ($4::text[])
ORDER BY r.conversation_id, r.request_id LIMIT $5
"""


async def find_overdue(
    db: DatabaseConnection,
    at: str | None,
    now: int | None,
    agents: Sequence[str],
    after: str,
    limit: int,
) -> list[tuple[str, str]]:
    """Returns open requests whose deadline has passed, of conversations that no owner holds."""
    named = [stored_text(agent) for agent in agents]
    rows = await db.fetch(OVERDUE, at, now, stored_text(after), named, limit)
    return [(name, request) for name, request in map(readable, rows)]


async def mark_deadlines(db: DatabaseConnection, requests: Sequence[tuple[str, str]]) -> None:
    """Marks deadlines as done."""
    await db.execute(
        "UPDATE requests AS r SET deadline_done = r.deadline_at"
        " FROM unnest($1::text[], $2::text[]) AS x(conversation_id, request_id)"
        " WHERE r.conversation_id = x.conversation_id AND r.request_id = x.request_id",
        [stored_text(name) for name, _ in requests],
        [stored_text(request) for _, request in requests],
    )
