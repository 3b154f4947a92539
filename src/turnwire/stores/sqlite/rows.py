"""Queries of the store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, get_args

import apsw

from turnwire.core.text import clean, json_text
from turnwire.ports import (
    Activity,
    BlobRow,
    ConversationRow,
    Damaged,
    InboxItem,
    Receipt,
    RequestRow,
)
from turnwire.stores.conversation_list import Wanted, label_text
from turnwire.stores.query import Query
from turnwire.stores.records import (
    AUDIT,
    CONVERSATION,
    ENTRY,
    HIT,
    INBOX_ITEM,
    LAST,
    MOST_READ,
    RULE,
    TURN,
    conversation_of,
    inbox_item_of,
    request_of,
)
from turnwire.stores.sqlite.nodes import HELD_UNTIL
from turnwire.stores.sqlite.packed import Packed, fetch_packed, packed

__all__ = [
    "find_audit",
    "find_blob",
    "find_blob_row",
    "find_conversation",
    "find_conversations",
    "find_entries",
    "find_inbox",
    "find_inbox_item",
    "find_raw",
    "find_receipt",
    "find_request",
    "find_rules",
    "find_session_users",
    "find_spent",
    "find_turns",
    "find_unsettled",
    "find_versions",
    "find_words",
]

_COLUMNS = ", ".join(
    f"{HELD_UNTIL} AS lease_until" if column == "lease_until" else f"c.{column}"
    for column in CONVERSATION
)
_CONVERSATION = f"SELECT {_COLUMNS} FROM conversations AS c"


# Rows are fetched completely before they are decoded. An unfinished query would keep its connection
# from seeing new commits, and an error in decoding would leave the query unfinished.


def find_conversation(db: apsw.Connection, conversation_id: str) -> ConversationRow | None:
    """Returns a conversation; None if it does not exist.

    Raises Damaged if its row cannot be read.
    """
    row = db.execute(
        f"{_CONVERSATION} WHERE conversation_id = ?", (clean(conversation_id),)
    ).fetchone()
    if row is None:
        return None
    conversation = conversation_of(row)
    if conversation.damage is not None:
        raise Damaged(conversation.conversation_id, conversation.damage)
    return conversation


# Queries for many rows return them packed, for `Reader.read_rows`. A thread that fetches or decodes
# rows one by one holds the interpreter lock, and the event loop waits for it.

# The filters of a list. A statement has only those that are used: with `?2 IS NULL OR ...` SQLite
# would use no index.
_FILTERS = {
    "user": "user = ?2",
    "label": "?3 IN (SELECT value FROM json_each(c.labels))",
    "agent": "agent = ?4",
    "activity": "activity = ?5",
    "pinned": "pinned",
}
_GROUPS = [f"activity = '{name}'" for name in get_args(Activity)]


@cache
def _conversations(filters: tuple[str, ...]) -> str:
    """Returns the statement of a list. Its index has the groups one after the other: all of them
    are merged. Pinned conversations have an index of their own, and SQLite is told to use it.
    """
    is_split = "pinned" not in filters and "activity" not in filters
    index = " INDEXED BY conversations_pinned" if "pinned" in filters else ""
    where = " AND ".join(["archived = ?1", *(_FILTERS[name] for name in filters)])
    rows = f"SELECT {_COLUMNS}, c.rowid AS number FROM conversations AS c{index} WHERE {where}"
    if is_split:
        rows = " UNION ALL ".join(f"{rows} AND {group}" for group in _GROUPS)
    order = "updated_at DESC, number DESC"
    return packed(CONVERSATION, f"{rows} ORDER BY {order} LIMIT ?6 OFFSET ?7", order)


def find_versions(db: apsw.Connection, conversation_ids: Sequence[str]) -> dict[str, int]:
    """Returns a number for each conversation that exists; it changes with its row."""
    named = {clean(name): name for name in conversation_ids}
    found: list[Any] = db.execute(
        "SELECT c.conversation_id, c.fence, c.owner, c.archived, c.state_json"
        " FROM json_each(?) AS named CROSS JOIN conversations AS c"
        " ON c.conversation_id = named.value",
        (json_text(list(named)),),
    ).fetchall()
    return {named[name]: hash(tuple(rest)) for name, *rest in found}


def find_conversations(db: apsw.Connection, wanted: Wanted) -> Packed:
    """Returns conversations, the one with the newest entry first; see `conversation_of`."""
    given = {
        "user": clean(wanted.user),
        "label": label_text(wanted.label),
        "agent": clean(wanted.agent),
        "activity": wanted.activity,
    }
    filters = [name for name, value in given.items() if value is not None]
    statement = _conversations((*filters, *(["pinned"] if wanted.pinned else [])))
    values = (wanted.archived, *given.values(), wanted.limit, wanted.offset)
    return fetch_packed(db, statement, values)


def find_session_users(db: apsw.Connection, native_session_id: str) -> list[str]:
    """Returns the conversations that use an agent's session.

    A fork uses its parent's session until it has its own.
    """
    found = db.execute(
        "SELECT conversation_id FROM conversations WHERE native_session_id = ?1"
        " OR (native_session_id IS NULL AND native_from ->> '$.session_id' = ?1)",
        (clean(native_session_id),),
    )
    return [conversation_id for (conversation_id,) in found]


def find_unsettled(db: apsw.Connection) -> list[str]:
    """Returns the conversations that need recovery."""
    found = db.execute("SELECT conversation_id FROM conversations WHERE unsettled")
    return [conversation_id for (conversation_id,) in found]


def _entries(direction: str) -> str:
    """Returns the statement that selects the first entries in this direction, up to a total size.

    It selects at least one entry. Sizes are summed before entries are read, so entries beyond the
    limit are never loaded.
    """
    sizes = (
        "SELECT number, sequence_num, octet_length(message_json) AS size FROM messages"
        " WHERE conversation_id = ?1 AND sequence_num > ?2 AND sequence_num < ?3"
        f" ORDER BY sequence_num {direction} LIMIT ?4"
    )
    sums = (
        f"SELECT number, size, sum(size) OVER (ORDER BY sequence_num {direction}) AS up_to_here"
        f" FROM ({sizes})"
    )
    return packed(
        ENTRY,
        f"SELECT {', '.join(ENTRY)} FROM ({sums}) CROSS JOIN messages USING (number)"
        " WHERE up_to_here <= max(size, ?5)",
        "sequence_num",
    )


_OLDEST_ENTRIES, _NEWEST_ENTRIES = _entries("ASC"), _entries("DESC")


def find_entries(
    db: apsw.Connection,
    conversation_id: str,
    after: int,
    before: int | None,
    limit: int,
    newest: bool,
    size: int | None = None,
) -> Packed:
    """Returns entries in order; see `entry_of`.

    `size` is the approximate limit of their JSON, in bytes.
    """
    return fetch_packed(
        db,
        _NEWEST_ENTRIES if newest else _OLDEST_ENTRIES,
        (
            clean(conversation_id),
            after,
            LAST if before is None else before,
            limit,
            LAST if size is None else size,
        ),
    )


def find_raw(db: apsw.Connection, conversation_id: str, sequence: int) -> str | None:
    """Returns the agent's raw message that was stored with an entry; None if there is none."""
    found = db.execute(
        "SELECT metadata_json -> '$.raw_event' FROM messages"
        " WHERE conversation_id = ? AND sequence_num = ?",
        (clean(conversation_id), sequence),
    ).fetchone()
    return None if found is None else found[0]


_TURNS = packed(
    TURN,
    f"SELECT {', '.join(TURN)}, after_sequence FROM turns"
    " WHERE conversation_id = ? AND ended_at IS NOT NULL"
    " AND after_sequence >= ? AND after_sequence < ?",
    "after_sequence, turn_id",
)


def find_turns(db: apsw.Connection, conversation_id: str, since: int, before: int | None) -> Packed:
    """Returns ended turns; see `turn_of`."""
    return fetch_packed(
        db, _TURNS, (clean(conversation_id), since, LAST if before is None else before)
    )


def find_spent(db: apsw.Connection, user: str | None, since: str | None) -> float:
    """Returns the cost of a user's turns in USD, since a time if one is given."""
    found = db.execute(
        "SELECT total(cost_usd) FROM ledger WHERE user IS ? AND at >= ?", (clean(user), since or "")
    )
    return float(found.get)


def find_receipt(
    db: apsw.Connection, conversation_id: str, user: str, client_message_id: str
) -> Receipt | None:
    """Returns the receipt of a frame; None if the frame was not accepted before."""
    row = db.execute(
        "SELECT body, ack_json FROM receipts"
        " WHERE conversation_id = ? AND user = ? AND client_message_id = ?",
        (clean(conversation_id), clean(user), clean(client_message_id)),
    ).fetchone()
    return None if row is None else Receipt(user, client_message_id, row[0], row[1].encode())


def find_request(db: apsw.Connection, conversation_id: str, request_id: str) -> RequestRow | None:
    """Returns a question or a permission, open or ended; None if it does not exist."""
    row = db.execute(
        "SELECT request_json, opened_at, outcome, ended_at, ended_by FROM requests"
        " WHERE conversation_id = ? AND request_id = ?",
        (clean(conversation_id), clean(request_id)),
    ).fetchone()
    return None if row is None else RequestRow(conversation_id, request_of(row[0]), *row[1:])


_INBOX = """
SELECT i.inbox_item_id, i.conversation_id, i.kind, i.source_id, r.request_json, i.created_at,
    c.title, i.closed_at, i.rowid AS number
FROM inbox_items i JOIN requests r USING (conversation_id, request_id)
JOIN conversations c USING (conversation_id)
"""
_OPEN_INBOX, _WHOLE_INBOX = (
    packed(INBOX_ITEM, f"{_INBOX} WHERE (?1 IS NULL OR c.user = ?1) {more}", "created_at, number")
    for more in ("AND i.closed_at IS NULL AND NOT c.archived", "")
)


def find_inbox(db: apsw.Connection, user: str | None, open_only: bool) -> Packed:
    """Returns inbox items, the oldest first; see `inbox_item_of`.

    Archived conversations have no open items.
    """
    return fetch_packed(db, _OPEN_INBOX if open_only else _WHOLE_INBOX, (clean(user),))


def find_inbox_item(db: apsw.Connection, inbox_item_id: str, user: str | None) -> InboxItem | None:
    """Returns one inbox item, open or closed; None if it does not exist."""
    row = db.execute(
        f"{_INBOX} WHERE i.inbox_item_id = ?1 AND (?2 IS NULL OR c.user = ?2)",
        (clean(inbox_item_id), clean(user)),
    ).fetchone()
    return None if row is None else inbox_item_of(row[:-1])


_RULES = packed(
    RULE,
    "SELECT r.conversation_id, r.rule_json, c.title, r.given_at, r.rule_id"
    " FROM rules r JOIN conversations c USING (conversation_id) WHERE ?1 IS NULL OR c.user = ?1"
    " ORDER BY r.given_at DESC, r.conversation_id, r.rule_id LIMIT ?2 OFFSET ?3",
    "given_at DESC, conversation_id, rule_id",
)


def find_rules(db: apsw.Connection, user: str | None, limit: int, offset: int) -> Packed:
    """Returns remembered rules, the newest first; see `rule_of`."""
    return fetch_packed(db, _RULES, (clean(user), limit, offset))


_AUDIT_OF_ONE, _AUDIT_OF_ALL = (
    packed(
        AUDIT,
        f"SELECT {', '.join(AUDIT)} FROM audit WHERE number > ?1 {more} ORDER BY number LIMIT ?3",
        "number",
    )
    for more in ("AND conversation_id = ?2", "")
)


def find_audit(db: apsw.Connection, conversation_id: str | None, after: int, limit: int) -> Packed:
    """Returns rows of the audit trail, in order; see `audit_of`."""
    statement = _AUDIT_OF_ALL if conversation_id is None else _AUDIT_OF_ONE
    return fetch_packed(db, statement, (after, clean(conversation_id), limit))


_HITS = packed(
    HIT,
    "SELECT number, conversation_id, sequence_num, title,"
    " CASE WHEN up_to_here - size < ?4 THEN message_json END AS message_json,"
    " coalesce(message_json ->> '$.timestamp', '') AS timestamp"
    " FROM (SELECT number, title, size, sum(size) OVER (ORDER BY number DESC) AS up_to_here"
    " FROM (SELECT m.number, c.title, octet_length(m.message_json) AS size FROM search"
    " JOIN messages m ON m.number = search.rowid JOIN conversations c USING (conversation_id)"
    " WHERE search MATCH ?1 AND (?2 IS NULL OR c.user = ?2)"
    " AND (?5 IS NULL OR m.conversation_id = ?5)"
    " ORDER BY search.rowid DESC LIMIT ?3)) CROSS JOIN messages USING (number)",
    "number DESC",
)


def find_words(
    db: apsw.Connection, query: Query, user: str | None, conversation_id: str | None, limit: int
) -> Packed:
    """Returns entries that contain all words, the newest first; see `hit_of`.

    Messages are read for their snippets, up to `MOST_READ` bytes.
    """
    if query.expression is None:
        return b""
    return fetch_packed(
        db, _HITS, (query.expression, clean(user), limit, MOST_READ, clean(conversation_id))
    )


def find_blob(db: apsw.Connection, blob_id: str) -> tuple[bytes, str] | None:
    """Returns the bytes and the media type of a blob; None if it does not exist."""
    row = db.execute(
        "SELECT data, mime_type FROM blobs WHERE blob_id = ?", (clean(blob_id),)
    ).fetchone()
    return None if row is None else (row[0], row[1])


def find_blob_row(db: apsw.Connection, blob_id: str) -> BlobRow | None:
    """Returns the metadata of a blob; None if it does not exist."""
    row = db.execute(
        "SELECT blob_id, mime_type, length(data), user, conversation_id FROM blobs"
        " WHERE blob_id = ?",
        (clean(blob_id),),
    ).fetchone()
    return None if row is None else BlobRow(*row)
