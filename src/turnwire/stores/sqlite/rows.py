"""Queries of the store, and decoders of their rows."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from turnwire.core.conversation.state import Conversation
from turnwire.core.message_codec import decode_message
from turnwire.core.status import OpenRequest, TurnEnd
from turnwire.core.text import clean
from turnwire.ports import (
    AuditRow,
    BlobRow,
    ConversationRow,
    Damaged,
    Hit,
    InboxItem,
    NativeFork,
    Receipt,
    RequestRow,
    StoredEntry,
    StoredTurn,
)
from turnwire.stores.query import Query
from turnwire.stores.snippet import snippet
from turnwire.stores.sqlite.packed import Kinds, Packed, fetch_packed, packed, text
from turnwire.stores.words import text_of

__all__ = [
    "AUDIT",
    "CONVERSATION",
    "ENTRY",
    "HIT",
    "INBOX_ITEM",
    "TURN",
    "audit_of",
    "conversation_of",
    "entry_of",
    "find_abandoned",
    "find_audit",
    "find_blob",
    "find_blob_row",
    "find_conversation",
    "find_conversations",
    "find_entries",
    "find_inbox",
    "find_inbox_item",
    "find_receipt",
    "find_request",
    "find_session_users",
    "find_spent",
    "find_turns",
    "find_unsettled",
    "find_words",
    "hit_of",
    "inbox_item_of",
    "turn_of",
]

_state = msgspec.json.Decoder(Conversation).decode
_end = msgspec.json.Decoder(TurnEnd).decode
_request = msgspec.json.Decoder(OpenRequest).decode
_native = msgspec.json.Decoder(NativeFork).decode
_json = msgspec.json.Decoder().decode

_LAST = 2**62  # larger than any sequence number
_MOST_READ = 4 * 1024 * 1024  # maximum bytes of messages that one search reads for its snippets

# Columns of each kind of row, in the order in which its decoder expects them.
CONVERSATION: Kinds = {
    "conversation_id": text,
    "agent": text,
    "created_at": text,
    "updated_at": text,
    "head": int,
    "state_json": bytes,
    "user": text,
    "title": text,
    "cwd": text,
    "native_session_id": text,
    "options": bytes,
    "archived": int,
    "parent_id": text,
    "owner": text,
    "lease_until": int,
    "forked_at": int,
    "native_from": bytes,
    "owns_session": int,
}
ENTRY: Kinds = {"sequence_num": int, "message_json": bytes, "turn_id": int, "trace_id": text}
TURN: Kinds = {"turn_id": int, "trace_id": text, "ended_at": text, "end_json": bytes}
INBOX_ITEM: Kinds = {
    "inbox_item_id": text,
    "conversation_id": text,
    "kind": text,
    "source_id": text,
    "request_json": bytes,
    "created_at": text,
    "title": text,
    "closed_at": text,
}
AUDIT: Kinds = {
    "number": int,
    "at": text,
    "action": text,
    "conversation_id": text,
    "by": text,
    "data_json": bytes,
    "trace_id": text,
}
HIT: Kinds = {
    "conversation_id": text,
    "sequence_num": int,
    "title": text,
    "message_json": bytes,
    "timestamp": text,
}

_CONVERSATION = f"SELECT {', '.join(CONVERSATION)} FROM conversations"


def conversation_of(row: Any) -> ConversationRow:
    """Decodes a row of `find_conversations`. A row that cannot be read has `damage` set."""
    damage, state, options = None, Conversation(row[0], state="error", reason="damaged"), {}
    native_from = None
    try:
        state, options = _state(row[5]), _json(row[10])
        native_from = _native(row[16]) if row[16] is not None else None
    except (msgspec.DecodeError, UnicodeDecodeError, TypeError) as error:
        damage = str(error)
    return ConversationRow(
        conversation_id=row[0],
        agent=row[1],
        created_at=row[2],
        updated_at=row[3],
        head=row[4],
        state=state,
        user=row[6],
        title=row[7],
        cwd=row[8],
        native_session_id=row[9],
        options=options,
        archived=bool(row[11]),
        parent_id=row[12],
        forked_at=row[15],
        native_from=native_from,
        owns_session=bool(row[17]),
        owner=row[13],
        lease_until=row[14],
        damage=damage,
    )


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

_CONVERSATIONS = packed(
    CONVERSATION,
    f"SELECT {', '.join(CONVERSATION)}, rowid AS number FROM conversations"
    " WHERE archived = ?1 AND (?2 IS NULL OR user = ?2)"
    " ORDER BY updated_at DESC, rowid DESC LIMIT ?3 OFFSET ?4",
    "updated_at DESC, number DESC",
)


def find_conversations(
    db: apsw.Connection, user: str | None, archived: bool, limit: int, offset: int
) -> Packed:
    """Returns conversations, the one with the newest entry first; see `conversation_of`."""
    return fetch_packed(db, _CONVERSATIONS, (archived, clean(user), limit, offset))


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


def find_abandoned(db: apsw.Connection, now: int) -> list[str]:
    """Returns the conversations whose owner has let its lease expire."""
    found = db.execute(
        "SELECT conversation_id FROM conversations WHERE owner IS NOT NULL AND lease_until <= ?",
        (now,),
    )
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
            _LAST if before is None else before,
            limit,
            _LAST if size is None else size,
        ),
    )


def entry_of(row: Any) -> StoredEntry:
    """Decodes a row of `find_entries`."""
    sequence, message, turn_id, trace_id = row
    return StoredEntry(sequence, decode_message(message), turn_id, trace_id)


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
        db, _TURNS, (clean(conversation_id), since, _LAST if before is None else before)
    )


def turn_of(row: Any) -> StoredTurn:
    """Decodes a row of `find_turns`."""
    turn_id, trace_id, ended_at, end = row
    return StoredTurn(turn_id, trace_id, ended_at, _end(end))


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
    return None if row is None else RequestRow(conversation_id, _request(row[0]), *row[1:])


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


def inbox_item_of(row: Any) -> InboxItem:
    """Decodes a row of `find_inbox`."""
    item, about, kind, source, request, *rest = row
    return InboxItem(item, about, kind, source, _request(request), *rest)


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


def audit_of(row: Any) -> AuditRow:
    """Decodes a row of `find_audit`."""
    number, at, action, about, by, data, trace_id = row
    return AuditRow(number, at, action, about, by, _json(data), trace_id)


_HITS = packed(
    HIT,
    "SELECT number, conversation_id, sequence_num, title,"
    " CASE WHEN up_to_here - size < ?4 THEN message_json END AS message_json,"
    " coalesce(message_json ->> '$.timestamp', '') AS timestamp"
    " FROM (SELECT number, title, size, sum(size) OVER (ORDER BY number DESC) AS up_to_here"
    " FROM (SELECT m.number, c.title, octet_length(m.message_json) AS size FROM search"
    " JOIN messages m ON m.number = search.rowid JOIN conversations c USING (conversation_id)"
    " WHERE search MATCH ?1 AND (?2 IS NULL OR c.user = ?2)"
    " ORDER BY search.rowid DESC LIMIT ?3)) CROSS JOIN messages USING (number)",
    "number DESC",
)


def find_words(db: apsw.Connection, query: Query, user: str | None, limit: int) -> Packed:
    """Returns entries that contain all words, the newest first; see `hit_of`.

    Messages are read for their snippets, up to `_MOST_READ` bytes.
    """
    if query.expression is None:
        return b""
    return fetch_packed(db, _HITS, (query.expression, clean(user), limit, _MOST_READ))


def hit_of(row: Any, query: Query) -> Hit:
    """Decodes a row of `find_words`, and cuts its snippet."""
    conversation_id, sequence, title, message, timestamp = row
    shown = "" if message is None else snippet(text_of(decode_message(message)), query.terms)
    return Hit(conversation_id, sequence, title, shown, timestamp)


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
