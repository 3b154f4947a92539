"""Checks of whole tables: rows without a conversation, blobs, and counters."""

from __future__ import annotations

from turnwire.stores.fsck.database import Database
from turnwire.stores.fsck.finding import Finding

__all__ = [
    "accept_blob",
    "bad_blobs",
    "count_stored",
    "make_again",
    "orphaned_rows",
    "remove_left_over",
    "unused_blobs",
    "wrong_stored",
]

_TABLES = (
    *("turns", "requests", "inbox_items", "receipts", "connection_sessions", "blob_uses"),
    *("set_aside", "partials", "reservations", "session_pieces", "rules"),
)
_KNOWN = "(SELECT 1 FROM conversations AS c WHERE c.conversation_id = t.conversation_id)"
_HAS_LOG = "(SELECT 1 FROM messages AS m WHERE m.conversation_id = t.conversation_id)"
_LOGS = f"""
SELECT DISTINCT conversation_id FROM messages AS t WHERE NOT EXISTS {_KNOWN} ORDER BY 1
"""
_LEFT_OVER = f"""
SELECT DISTINCT conversation_id FROM {{table}} AS t
WHERE NOT EXISTS {_KNOWN} AND NOT EXISTS {_HAS_LOG} ORDER BY 1
"""
_ITEMS = f"""
SELECT conversation_id, source_id FROM inbox_items AS t WHERE NOT EXISTS (
    SELECT 1 FROM requests AS r
    WHERE r.conversation_id = t.conversation_id AND r.request_id = t.request_id
) AND (EXISTS {_KNOWN} OR EXISTS {_HAS_LOG}) ORDER BY source_id
"""
_MAKE_AGAIN = """
INSERT INTO conversations (conversation_id, agent, title, options, created_at, updated_at, head,
    unsettled, state_json)
SELECT CAST($1 AS text), 'unknown', '(found again)', '{}', CAST($2 AS text), CAST($2 AS text),
    max(sequence_num), false, ''
FROM messages WHERE conversation_id = $1
"""


async def orphaned_rows(db: Database) -> list[Finding]:
    """Returns findings for rows whose conversation or request is missing."""
    found = [
        Finding(
            "conversation_missing", "The log has entries, but the conversation is missing.", name
        )
        for (name,) in await db.rows(_LOGS)
    ]
    for table in (*_TABLES, *db.own_tables):
        found += [
            Finding(
                "rows_left_over",
                f"The table {table} has rows of a missing conversation.",
                name,
                f"table {table}",
            )
            for (name,) in await db.rows(_LEFT_OVER.format(table=table))
        ]
    found += [
        Finding("inbox_wrong", "The request of the item is missing.", name, f"item {source}")
        for name, source in await db.rows(_ITEMS)
    ]
    return found


async def make_again(db: Database, conversation_id: str, now: str) -> None:
    """Creates the missing row of a conversation for its log. Its agent is unknown."""
    await db.run(_MAKE_AGAIN, [(conversation_id, now)])


async def remove_left_over(db: Database, finding: Finding) -> None:
    """Deletes rows of a missing conversation, or the inbox item of a missing request."""
    assert finding.place is not None
    what, _, name = finding.place.partition(" ")
    if what == "item":
        await db.run("DELETE FROM inbox_items WHERE source_id = $1", [(name,)])
    else:
        assert name in (*_TABLES, *db.own_tables)
        await db.run(f"DELETE FROM {name} WHERE conversation_id = $1", [(finding.conversation_id,)])


# --- blobs --------------------------------------------------------------------------------------


async def bad_blobs(db: Database) -> list[Finding]:
    """Returns findings for blobs whose bytes do not match their digest."""
    said = "The bytes do not match the stored digest."
    return [
        Finding("blob_damaged", said, None, f"blob {blob_id}")
        for (blob_id,) in await db.rows("SELECT blob_id FROM blobs WHERE sha256 <> sha256(data)")
    ]


async def accept_blob(db: Database, blob_id: str) -> None:
    """Takes the bytes of a damaged blob as they are: no entry refers to them any more."""
    await db.run("UPDATE blobs SET sha256 = sha256(data) WHERE blob_id = $1", [(blob_id,)])


async def unused_blobs(db: Database, before: str) -> list[Finding]:
    """Returns findings for blobs that no conversation needs and that are not new."""
    rows = await db.rows(
        "SELECT blob_id FROM blobs AS b WHERE created_at < $1"
        " AND NOT EXISTS (SELECT 1 FROM blob_uses AS u WHERE u.blob_id = b.blob_id)",
        before,
    )
    said = "No conversation needs the blob."
    return [Finding("blob_unused", said, None, f"blob {blob_id}") for (blob_id,) in rows]


# --- counters -----------------------------------------------------------------------------------

# What is stored, less what is counted, in one statement: commits change both.
_STORED = """
SELECT "user", CAST(sum(bytes) AS bigint), CAST(sum(conversations) AS bigint) FROM (
    SELECT "user", octet_length(state_json) + octet_length(options) AS bytes, 1 AS conversations
    FROM conversations
    UNION ALL
    SELECT c."user", octet_length(message_json) + coalesce(octet_length(metadata_json), 0), 0
    FROM messages JOIN conversations AS c USING (conversation_id)
    UNION ALL
    SELECT c."user", octet_length(data), 0
    FROM session_pieces JOIN conversations AS c USING (conversation_id)
    UNION ALL
    SELECT "user", octet_length(data), 0 FROM blobs
    UNION ALL
    SELECT "user", -bytes, -conversations FROM stored
) AS x WHERE "user" IS NOT NULL GROUP BY "user"
HAVING sum(bytes) <> 0 OR sum(conversations) <> 0 ORDER BY "user"
"""


async def wrong_stored(db: Database) -> list[Finding]:
    """Returns findings for counters of what each user has stored."""
    said = "The counter is wrong by {:,} bytes and {:,} conversations."
    return [
        Finding("counter_wrong", said.format(-size, -count), None, f"stored by {user}")
        for user, size, count in await db.rows(_STORED)
    ]


async def count_stored(db: Database) -> None:
    """Corrects the counters of what each user has stored."""
    await db.run(db.count_again, await db.rows(_STORED))
