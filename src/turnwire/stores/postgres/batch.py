"""One statement for a batch of commits, each of which succeeds or fails for itself.

The statement moves the head of every conversation whose fence, owner, head and version are as its
commit expects. All other rows are joined to the conversations that moved. A commit that waits for
an open claim checks the new row when the claim is done, and writes nothing; the rest of the batch
is not affected (READ COMMITTED).

`place` is the number of a commit in its batch. The tables that a batch needs make up its statement,
so that an ordinary commit does not pay for what it does not write.

`IS NOT DISTINCT FROM` keeps the planner from the index of all owned conversations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from turnwire.stores.postgres.audit import NUMBER
from turnwire.stores.postgres.commit import CommitRows
from turnwire.stores.postgres.text import storable

__all__ = ["arguments_of", "statement_for", "tables_of"]

_MOVE = (
    *("conversation_id text", "fence bigint", "owner text", "before bigint", "head bigint"),
    *("state_json text", "at text", "unsettled boolean", "activity text"),
    *("native_session_id text", "title text"),
    *("agent text", "owns_session boolean"),
    *("version bigint", "more bigint"),
)

# The columns of each table's rows, after `place`.
_COLUMNS: dict[str, tuple[str, ...]] = {
    "entries": (
        *("sequence_num bigint", "role text", "message_type text", "message_json text"),
        *("metadata_json text", "uuid text", "turn_id bigint", "trace_id text", "created_at text"),
    ),
    "turns": (
        *("turn_id bigint", "trace_id text", "origin text", "queue_id text"),
        *("client_message_id text", "started_at text", "ended_at text", "end_json text"),
        *("after_sequence bigint", "input_tokens bigint", "output_tokens bigint"),
        *("cache_creation_input_tokens bigint", "cache_read_input_tokens bigint"),
        *("cost_usd double precision", "duration_ms bigint"),
    ),
    "opened": (
        *("request_id text", "kind text", "request_json text", "opened_at text"),
        *("deadline_at text", "outcome text", "ended_at text", "ended_by text"),
    ),
    "items": (
        *("source_id text", "inbox_item_id text", "request_id text", "created_at text"),
        "closed_at text",
    ),
    "ended": ("request_id text", "outcome text", "at text", "by text", "is_over boolean"),
    "closed_items": ("request_id text", "at text"),
    "receipts": (
        *('"user" text', "client_message_id text", "body bytea", "ack_json text"),
        "created_at text",
    ),
    "rules": ("rule_id text", "rule_json text", "given_at text"),
    "forgotten": ("rule_id text",),
    "ledger": ("at text", "day text", "turn_id bigint", "cost_usd double precision"),
    "audit": ("at text", "action text", "by text", "trace_id text", "data_json text"),
    "blob_uses": ("blob_id text",),
    "settles": (),
    "ended_blocks": ("message_id text", "block_index bigint"),
    "pieces": ("session_id text", "name text", "data bytea"),
}

# Commits that the store refuses: their places.
_REFUSED = {
    "receipts": """
    SELECT place FROM new_receipts n JOIN asked a USING (place) JOIN receipts r
        ON r.conversation_id = a.conversation_id AND r."user" = n."user"
        AND r.client_message_id = n.client_message_id
    WHERE r.conversation_id = ANY(ARRAY(
        SELECT conversation_id FROM new_receipts JOIN asked USING (place)))
    """,
    "ended": """
    SELECT place FROM new_ended n JOIN asked a USING (place) LEFT JOIN (
        SELECT conversation_id, request_id FROM requests
        WHERE outcome IS NULL AND conversation_id = ANY(ARRAY(
            SELECT conversation_id FROM new_ended JOIN asked USING (place)))
    ) AS o ON o.conversation_id = a.conversation_id AND o.request_id = n.request_id
    WHERE o.request_id IS NULL
    """,
}

_TURN_END = ", ".join(
    f"{column} = CASE WHEN excluded.ended_at IS NULL THEN t.{column} ELSE excluded.{column} END"
    for column in (
        *("ended_at", "end_json", "after_sequence", "input_tokens", "output_tokens"),
        *("cache_creation_input_tokens", "cache_read_input_tokens", "cost_usd", "duration_ms"),
    )
)

# What is written for the conversations that moved.
_WRITES = {
    "entries": """
    INSERT INTO messages (conversation_id, sequence_num, role, message_type, message_json,
        metadata_json, uuid, turn_id, trace_id, created_at)
    SELECT m.conversation_id, sequence_num, role, message_type, message_json, metadata_json, uuid,
        turn_id, trace_id, created_at
    FROM new_entries JOIN moved m USING (place)
    """,
    # A turn that continues or is handed over again keeps its first start time.
    "turns": f"""
    INSERT INTO turns AS t (conversation_id, turn_id, trace_id, origin, queue_id, client_message_id,
        started_at, ended_at, end_json, after_sequence, input_tokens, output_tokens,
        cache_creation_input_tokens, cache_read_input_tokens, cost_usd, duration_ms)
    SELECT m.conversation_id, turn_id, trace_id, origin, queue_id, client_message_id,
        started_at, ended_at, end_json, after_sequence, input_tokens, output_tokens,
        cache_creation_input_tokens, cache_read_input_tokens, cost_usd, duration_ms
    FROM new_turns JOIN moved m USING (place)
    ON CONFLICT (conversation_id, turn_id) DO UPDATE SET {_TURN_END}
    """,
    # An agent may ask the same again in a new process. The request's row and inbox item are then
    # reused.
    "opened": """
    INSERT INTO requests (conversation_id, request_id, kind, request_json, opened_at, deadline_at,
        outcome, ended_at, ended_by)
    SELECT m.conversation_id, request_id, kind, request_json, opened_at, deadline_at, outcome,
        ended_at, ended_by
    FROM new_opened JOIN moved m USING (place)
    ON CONFLICT (conversation_id, request_id) DO UPDATE SET
        kind = excluded.kind, request_json = excluded.request_json,
        opened_at = excluded.opened_at, deadline_at = excluded.deadline_at,
        outcome = excluded.outcome, ended_at = excluded.ended_at, ended_by = excluded.ended_by
    """,
    "items": """
    INSERT INTO inbox_items (source_id, inbox_item_id, kind, conversation_id, request_id,
        created_at, closed_at)
    SELECT source_id, inbox_item_id, 'await_user_input', m.conversation_id, request_id, created_at,
        closed_at
    FROM new_items JOIN moved m USING (place)
    ON CONFLICT (source_id) DO UPDATE SET inbox_item_id = excluded.inbox_item_id,
        created_at = excluded.created_at, closed_at = excluded.closed_at
    """,
    "ended": """
    UPDATE requests r SET outcome = n.outcome, ended_at = n.at, ended_by = n.by
    FROM new_ended n JOIN moved m USING (place)
    WHERE r.conversation_id = m.conversation_id AND r.request_id = n.request_id AND n.is_over
        AND r.conversation_id = ANY(ARRAY(SELECT conversation_id FROM new_ended JOIN asked USING (place)))
    """,
    "receipts": """
    INSERT INTO receipts (conversation_id, "user", client_message_id, body, ack_json, created_at)
    SELECT m.conversation_id, n."user", client_message_id, body, ack_json, created_at
    FROM new_receipts n JOIN moved m USING (place)
    """,
    "rules": """
    INSERT INTO rules (conversation_id, rule_id, rule_json, given_at)
    SELECT m.conversation_id, rule_id, rule_json, given_at
    FROM new_rules JOIN moved m USING (place)
    ON CONFLICT (conversation_id, rule_id) DO UPDATE SET
        rule_json = excluded.rule_json, given_at = excluded.given_at
    """,
    "forgotten": """
    DELETE FROM rules r USING new_forgotten n JOIN moved m USING (place)
    WHERE r.conversation_id = m.conversation_id AND r.rule_id = n.rule_id
        AND r.conversation_id = ANY(ARRAY(
            SELECT conversation_id FROM new_forgotten JOIN asked USING (place)))
    """,
    "ledger": """
    INSERT INTO ledger (at, conversation_id, "user", turn_id, cost_usd)
    SELECT at, m.conversation_id, m."user", turn_id, cost_usd
    FROM new_ledger JOIN moved m USING (place)
    """,
    "spent": """
    INSERT INTO spent AS s ("user", day, part, cost_usd)
    SELECT m."user", day, $1::smallint, sum(cost_usd)
    FROM new_ledger JOIN moved m USING (place) GROUP BY m."user", day ORDER BY m."user", day
    ON CONFLICT ("user", day, part) DO UPDATE SET cost_usd = s.cost_usd + excluded.cost_usd
    """,
    "audit": f"""
    INSERT INTO audit (number, at, action, conversation_id, by, trace_id, data_json)
    SELECT {NUMBER.format(base="$2::bigint", nth="nth")}, at, action, m.conversation_id, by,
        trace_id, data_json
    FROM new_audit JOIN moved m USING (place)
    """,
    # Holds the blobs, so that no deletion of another conversation removes them meanwhile. Reads
    # `moved` first: everything that writes holds conversations before blobs.
    "blob_uses": """
    INSERT INTO blob_uses (conversation_id, blob_id)
    SELECT m.conversation_id, n.blob_id FROM new_blob_uses n JOIN moved m USING (place)
    WHERE (SELECT count(*) FROM (
        SELECT 1 FROM blobs
        WHERE blob_id = ANY(ARRAY(SELECT blob_id FROM new_blob_uses JOIN moved USING (place)))
        ORDER BY blob_id FOR KEY SHARE
    ) AS held) >= 0
    ON CONFLICT DO NOTHING
    """,
    "settles": """
    DELETE FROM reservations r WHERE r.conversation_id = ANY(ARRAY(
        SELECT conversation_id FROM new_settles JOIN moved USING (place)))
    """,
    "ended_blocks": """
    DELETE FROM partials p USING new_ended_blocks n JOIN moved m USING (place)
    WHERE p.conversation_id = m.conversation_id AND p.message_id = n.message_id
        AND p.block_index = n.block_index
        AND p.conversation_id = ANY(ARRAY(
            SELECT conversation_id FROM new_ended_blocks JOIN asked USING (place)))
    """,
    # Sorted, so that the numbers of a conversation's pieces have their order.
    "pieces": """
    INSERT INTO session_pieces (conversation_id, session_id, name, data)
    SELECT m.conversation_id, session_id, name, data
    FROM new_pieces JOIN moved m USING (place) ORDER BY nth
    """,
}
# Items of the same statement are closed by what is written for them, not twice.
_CLOSE_ITEMS = """
    UPDATE inbox_items i SET closed_at = n.at
    FROM new_closed_items n JOIN moved m USING (place)
    WHERE i.conversation_id = m.conversation_id AND i.request_id = n.request_id
        AND i.closed_at IS NULL
        AND i.conversation_id = ANY(ARRAY(
            SELECT conversation_id FROM new_closed_items JOIN asked USING (place)))
"""
_NOT_WRITTEN = "AND NOT EXISTS (SELECT 1 FROM new_items x WHERE x.source_id = i.source_id)"

_STATEMENT = """
WITH {asked}{refused}moved AS (
    UPDATE conversations c SET
        head = a.head, state_json = a.state_json, updated_at = coalesce(a.at, c.updated_at),
        unsettled = a.unsettled, activity = a.activity, title = a.title, version = c.version + 1,
        agent = coalesce(a.agent, c.agent),
        native_session_id = CASE WHEN a.agent IS NULL
            THEN coalesce(a.native_session_id, c.native_session_id) ELSE a.native_session_id END,
        owns_session = coalesce(a.owns_session, c.owns_session OR (
            a.native_session_id IS NOT NULL
            AND a.native_session_id IS DISTINCT FROM c.native_session_id))
    FROM asked a
    WHERE c.conversation_id = ANY($3::text[]) AND c.conversation_id = a.conversation_id
        AND c.fence = a.fence AND c.owner IS NOT DISTINCT FROM a.owner AND c.head = a.before
        AND c.version = a.version{unless}
    RETURNING a.place, c.conversation_id, c."user", c.version, c.number, a.more
), counted AS (
    INSERT INTO stored AS s ("user", part, bytes, conversations)
    SELECT "user", $1::smallint, sum(more), 0 FROM moved WHERE "user" IS NOT NULL
    GROUP BY "user" ORDER BY "user"
    ON CONFLICT ("user", part) DO UPDATE SET bytes = s.bytes + excluded.bytes
){writes}
SELECT place, version, number FROM moved WHERE $2::bigint IS NOT NULL -- every statement has this argument
"""


def tables_of(batch: Sequence[CommitRows]) -> tuple[str, ...]:
    """Returns the tables that a batch writes, in the order of their arguments."""
    present = {table for commit in batch for table in commit.rows}
    return tuple(table for table in _COLUMNS if table in present)


@lru_cache(maxsize=256)
def statement_for(tables: tuple[str, ...]) -> str:
    """Returns the statement of a batch that writes these tables."""
    number = 3  # $1 is the part of the counters, $2 the base of audit numbers
    parts: list[str] = []

    def given(name: str, columns: Sequence[str], first: str) -> None:
        nonlocal number
        arrays = []
        for column in columns:
            arrays.append(f"${number}::{_type_of(column)}[]")
            number += 1
        names = ", ".join(_name_of(column) for column in columns)
        parts.append(
            f"{name} AS MATERIALIZED (SELECT * FROM unnest({', '.join(arrays)})"
            f" WITH ORDINALITY AS x({names}, {first}))"
        )

    given("asked", _MOVE, "place")
    for table in tables:
        given(f"new_{table}", ("place bigint", *_COLUMNS[table]), "nth")
    refused = [_REFUSED[table] for table in tables if table in _REFUSED]
    writes = {table: _WRITES[table] for table in tables if table in _WRITES}
    if "ledger" in tables:
        writes["spent"] = _WRITES["spent"]
    if "closed_items" in tables:
        writes["closed_items"] = _CLOSE_ITEMS + (_NOT_WRITTEN if "items" in tables else "")
    return _STATEMENT.format(
        asked="".join(f"{part}, " for part in parts),
        refused=f"refused AS MATERIALIZED ({' UNION ALL '.join(refused)}), " if refused else "",
        unless=" AND NOT a.place = ANY(ARRAY(SELECT place FROM refused))" if refused else "",
        writes="".join(f", wrote_{table} AS ({sql})" for table, sql in writes.items()),
    )


def arguments_of(
    batch: Sequence[CommitRows],
    versions: Sequence[tuple[int, int]],
    tables: tuple[str, ...],
    *,
    part: int,
    audit_base: int,
) -> list[Any]:
    """Returns the arguments of the statement; `versions` has the version and the bytes before."""
    moves = [
        (*commit.move, version, commit.bytes - before)
        for commit, (version, before) in zip(batch, versions, strict=True)
    ]
    arguments: list[Any] = [part, audit_base, *_columns(moves, len(_MOVE))]
    for table in tables:
        rows = [
            (place, *map(storable, row))
            for place, commit in enumerate(batch, 1)
            for row in commit.rows.get(table, ())
        ]
        arguments += _columns(rows, len(_COLUMNS[table]) + 1)
    return arguments


def _columns(rows: Sequence[tuple[Any, ...]], width: int) -> list[Any]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * width


def _name_of(column: str) -> str:
    return column.partition(" ")[0]


def _type_of(column: str) -> str:
    return column.partition(" ")[2]
