"""Checks of the file itself: SQLite's integrity check, the schema version, and orphaned rows."""

from __future__ import annotations

import hashlib
from typing import Any

import apsw

from turnwire.stores.sqlite.fsck.finding import Finding
from turnwire.stores.sqlite.fsck.search import index_all
from turnwire.stores.sqlite.schema import NEWEST, check_version

__all__ = [
    "bad_blobs",
    "damage",
    "make_again",
    "old_schema",
    "orphaned_rows",
    "remove_left_over",
    "restore_indexes",
    "unused_blobs",
]

_MOST = 100  # maximum number of errors that SQLite's integrity check reports
_TABLES = (
    *("turns", "requests", "inbox_items", "receipts", "connection_sessions", "blob_uses"),
    *("set_aside", "partials"),
)


def damage(db: apsw.Connection) -> list[Finding]:
    """Returns the errors of SQLite's integrity check."""
    try:
        said = [row[0] for row in db.execute(f"PRAGMA integrity_check({_MOST})")]
    except apsw.Error as failure:
        said = [str(failure)]
    return [Finding("file_damaged", str(each)) for each in said if each != "ok"]


def restore_indexes(db: apsw.Connection) -> None:
    """Rebuilds the indexes and the search index."""
    db.execute("REINDEX")
    index_all(db)


def old_schema(db: apsw.Connection) -> Finding | None:
    """Returns a finding if the schema is older; it must be migrated before it can be checked.

    Raises StorageUnavailable for a newer schema.
    """
    version = check_version(db)
    if version < NEWEST:
        what = f"The file has schema {max(version, 0)}; this version of Turnwire has {NEWEST}."
        return Finding("schema_old", what)
    return None


# --- orphaned rows ------------------------------------------------------------------------------


def orphaned_rows(db: apsw.Connection) -> list[Finding]:
    """Returns findings for rows whose conversation or request is missing."""
    named = {name for (name,) in db.execute("SELECT conversation_id FROM conversations")}
    logs = {name for (name,) in db.execute("SELECT DISTINCT conversation_id FROM messages")}
    found = [
        Finding(
            "conversation_missing", "The log has entries, but the conversation is missing.", name
        )
        for name in sorted(logs - named)
    ]
    for table in _TABLES:
        ids = {name for (name,) in db.execute(f"SELECT DISTINCT conversation_id FROM {table}")}
        found += [
            Finding(
                "rows_left_over",
                f"The table {table} has rows of a missing conversation.",
                name,
                f"table {table}",
            )
            for name in sorted(ids - named - logs)
        ]
    orphans: list[Any] = db.execute(
        "SELECT conversation_id, source_id FROM inbox_items i WHERE NOT EXISTS (SELECT 1"
        " FROM requests r WHERE (r.conversation_id, r.request_id)"
        " = (i.conversation_id, i.request_id))"
    ).fetchall()
    found += [
        Finding("inbox_wrong", "The request of the item is missing.", name, f"item {source}")
        for name, source in orphans
        if name in named | logs
    ]
    return found


def make_again(db: apsw.Connection, conversation_id: str, now: str) -> None:
    """Creates the missing row of a conversation for its log. Its agent is unknown."""
    db.execute(
        "INSERT INTO conversations (conversation_id, agent, title, options, created_at, updated_at,"
        " head, unsettled, state_json) SELECT ?1, 'unknown', '(found again)', '{}', ?2, ?2,"
        " max(sequence_num), 0, '' FROM messages WHERE conversation_id = ?1",
        (conversation_id, now),
    )


def remove_left_over(db: apsw.Connection, finding: Finding) -> None:
    """Deletes rows of a missing conversation, or the inbox item of a missing request."""
    assert finding.place is not None
    what, _, name = finding.place.partition(" ")
    if what == "item":
        db.execute("DELETE FROM inbox_items WHERE source_id = ?", (name,))
    else:
        assert name in _TABLES
        db.execute(f"DELETE FROM {name} WHERE conversation_id = ?", (finding.conversation_id,))


# --- blobs --------------------------------------------------------------------------------------


def bad_blobs(db: apsw.Connection) -> list[Finding]:
    """Returns findings for blobs whose bytes do not match their digest."""
    return [
        Finding(
            "blob_damaged", "The bytes do not match the stored digest.", None, f"blob {blob_id}"
        )
        for blob_id, data, digest in db.execute("SELECT blob_id, data, sha256 FROM blobs")
        if digest is not None and hashlib.sha256(data).digest() != digest
    ]


def unused_blobs(db: apsw.Connection, before: str) -> list[Finding]:
    """Returns findings for blobs that no conversation needs and that are not new."""
    return [
        Finding("blob_unused", "No conversation needs the blob.", None, f"blob {blob_id}")
        for (blob_id,) in db.execute(
            "SELECT blob_id FROM blobs WHERE created_at < ?"
            " AND blob_id NOT IN (SELECT blob_id FROM blob_uses)",
            (before,),
        )
    ]
