"""Queries of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from turnwire.ports import BlobRow, ConversationRow, Damaged, InboxItem, Receipt, RequestRow
from turnwire.stores.conversation_list import Wanted, label_text
from turnwire.stores.postgres.audit import settled_number
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.nodes import HELD_UNTIL, SHIFT
from turnwire.stores.postgres.text import readable, stored_text
from turnwire.stores.records import (
    AUDIT,
    CONVERSATION,
    ENTRY,
    LAST,
    TURN,
    Kinds,
    conversation_of,
    inbox_item_of,
    request_of,
)

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
    "find_turns",
    "find_unsettled",
    "find_versions",
]


def _select(kinds: Kinds) -> str:
    return ", ".join('"user"' if column == "user" else column for column in kinds)


# The end of the lease is returned in the caller's time, which is the first argument.
_LEASE = f"CASE WHEN c.owner IS NULL THEN 0 ELSE {HELD_UNTIL} + {SHIFT.format(clock='$1')} END"
_CONVERSATION = f"SELECT {_select(CONVERSATION)} FROM conversations AS c".replace(
    "lease_until", _LEASE
)


_FIND_CONVERSATION = (
    _CONVERSATION.replace(
        " FROM conversations AS c",
        ", (SELECT value FROM meta WHERE name = 'epoch') FROM conversations AS c",
    )
    + " WHERE conversation_id = $2"
)


async def find_conversation(
    db: DatabaseConnection, conversation_id: str, clock: int | None
) -> tuple[ConversationRow, str] | None:
    """Returns a conversation and the epoch of the log; None if the conversation does not exist.

    Raises Damaged if it cannot be read.
    """
    row = await db.fetchrow(_FIND_CONVERSATION, clock, stored_text(conversation_id))
    if row is None:
        return None
    *columns, epoch = readable(row)
    conversation = conversation_of(columns)
    if conversation.damage is not None:
        raise Damaged(conversation.conversation_id, conversation.damage)
    return conversation, epoch


async def find_versions(
    db: DatabaseConnection, conversation_ids: Sequence[str]
) -> tuple[dict[str, int], str | None]:
    """Returns a number for each conversation that exists; it changes with its row.

    Also returns the epoch of the log, or None if no conversation exists.
    """
    named = {stored_text(name): name for name in conversation_ids}
    found = await db.fetch(
        "SELECT conversation_id, fence, version, owner, archived,"
        " (SELECT value FROM meta WHERE name = 'epoch')"
        " FROM conversations WHERE conversation_id = ANY ($1::text[])",
        list(named),
    )
    versions = {named[name]: hash(tuple(rest)) for name, *rest, _ in found}
    return versions, found[0][-1] if found else None


async def find_conversations(
    db: DatabaseConnection, wanted: Wanted, clock: int | None
) -> list[Any]:
    """Returns rows of conversations, the one with the newest entry first."""
    arguments: list[Any] = [clock, wanted.archived, wanted.limit, wanted.offset]
    where = ["archived = $2", *(["pinned"] if wanted.pinned else [])]
    for condition, value in (
        ('"user" = {}', stored_text(wanted.user)),
        ("labels::jsonb ? {}", label_text(wanted.label)),
        ("agent = {}", stored_text(wanted.agent)),
        ("activity = {}", wanted.activity),
    ):
        if value is not None:
            arguments.append(value)
            where.append(condition.format(f"${len(arguments)}"))
    # The hour comes first because it has an index; `updated_at` has none: see the migrations.
    order = "ORDER BY updated_hour DESC, updated_at DESC, number DESC LIMIT $3 OFFSET $4"
    return list(await db.fetch(f"{_CONVERSATION} WHERE {' AND '.join(where)} {order}", *arguments))


async def find_session_users(db: DatabaseConnection, native_session_id: str) -> list[str]:
    """Returns the conversations that use an agent's session."""
    rows = await db.fetch(
        "SELECT conversation_id FROM conversations WHERE native_session_id = $1"
        " UNION ALL SELECT conversation_id FROM conversations"
        " WHERE native_session_id IS NULL AND native_from_session = $1",
        stored_text(native_session_id),
    )
    return [readable(row)[0] for row in rows]


async def find_unsettled(db: DatabaseConnection) -> list[str]:
    """Returns the conversations that need recovery."""
    rows = await db.fetch("SELECT conversation_id FROM conversations WHERE unsettled")
    return [readable(row)[0] for row in rows]


def _entries(direction: str, sized: bool) -> str:
    found = (
        f"SELECT {_select(ENTRY)}"
        + (
            f", octet_length(message_json) AS size, sum(octet_length(message_json))"
            f" OVER (ORDER BY sequence_num {direction}) AS up_to_here"
            if sized
            else ""
        )
        + " FROM messages WHERE conversation_id = $1 AND sequence_num > $2 AND sequence_num < $3"
        f" ORDER BY sequence_num {direction} LIMIT $4"
    )
    where = " WHERE up_to_here <= greatest(size, $5)" if sized else ""
    return f"SELECT {_select(ENTRY)} FROM ({found}) AS x{where} ORDER BY sequence_num"


_ENTRIES = {
    (newest, sized): _entries("DESC" if newest else "ASC", sized)
    for newest in (False, True)
    for sized in (False, True)
}


async def find_entries(
    db: DatabaseConnection,
    conversation_id: str,
    after: int,
    before: int | None,
    limit: int,
    newest: bool,
    size: int | None,
) -> list[Any]:
    """Returns rows of entries in order. `size` is the approximate limit of their JSON, in bytes."""
    last = LAST if before is None else before
    more = [] if size is None else [size]
    statement = _ENTRIES[newest, size is not None]
    return list(await db.fetch(statement, stored_text(conversation_id), after, last, limit, *more))


class _Metadata(Struct):
    raw_event: Raw = Raw(b"")  # empty: none


_metadata = msgspec.json.Decoder(_Metadata).decode


async def find_raw(db: DatabaseConnection, conversation_id: str, sequence: int) -> str | None:
    """Returns the agent's raw message that was stored with an entry; None if there is none."""
    row = await db.fetchrow(
        "SELECT metadata_json FROM messages WHERE conversation_id = $1 AND sequence_num = $2",
        stored_text(conversation_id),
        sequence,
    )
    if row is None or row[0] is None:
        return None
    raw = _metadata(readable(row)[0]).raw_event
    return bytes(raw).decode() or None


async def find_turns(
    db: DatabaseConnection, conversation_id: str, since: int, before: int | None
) -> list[Any]:
    """Returns rows of ended turns."""
    return list(
        await db.fetch(
            f"SELECT {_select(TURN)} FROM turns"
            " WHERE conversation_id = $1 AND ended_at IS NOT NULL"
            " AND after_sequence >= $2 AND after_sequence < $3 ORDER BY after_sequence, turn_id",
            stored_text(conversation_id),
            since,
            LAST if before is None else before,
        )
    )


async def find_receipt(
    db: DatabaseConnection, conversation_id: str, user: str, client_message_id: str
) -> Receipt | None:
    """Returns the receipt of a frame; None if the frame was not accepted before."""
    row = await db.fetchrow(
        'SELECT body, ack_json FROM receipts WHERE conversation_id = $1 AND "user" = $2'
        " AND client_message_id = $3",
        stored_text(conversation_id),
        stored_text(user),
        stored_text(client_message_id),
    )
    if row is None:
        return None
    body, ack = readable(row)
    return Receipt(user, client_message_id, body, ack.encode())


async def find_request(
    db: DatabaseConnection, conversation_id: str, request_id: str
) -> RequestRow | None:
    """Returns a question or a permission, open or ended; None if it does not exist."""
    row = await db.fetchrow(
        "SELECT request_json, opened_at, outcome, ended_at, ended_by FROM requests"
        " WHERE conversation_id = $1 AND request_id = $2",
        stored_text(conversation_id),
        stored_text(request_id),
    )
    if row is None:
        return None
    request, *rest = readable(row)
    return RequestRow(conversation_id, request_of(request), *rest)


_INBOX = """
SELECT i.inbox_item_id, i.conversation_id, i.kind, i.source_id, r.request_json, i.created_at,
    c.title, i.closed_at
FROM inbox_items i JOIN requests r USING (conversation_id, request_id)
JOIN conversations c USING (conversation_id)
"""


async def find_inbox(db: DatabaseConnection, user: str | None, open_only: bool) -> list[Any]:
    """Returns rows of inbox items, the oldest first. Archived conversations have no open items."""
    more = "AND i.closed_at IS NULL AND NOT c.archived" if open_only else ""
    return list(
        await db.fetch(
            f'{_INBOX} WHERE ($1::text IS NULL OR c."user" = $1) {more}'
            " ORDER BY i.created_at, i.number",
            stored_text(user),
        )
    )


async def find_inbox_item(
    db: DatabaseConnection, inbox_item_id: str, user: str | None
) -> InboxItem | None:
    """Returns one inbox item, open or closed; None if it does not exist."""
    row = await db.fetchrow(
        f'{_INBOX} WHERE i.inbox_item_id = $1 AND ($2::text IS NULL OR c."user" = $2)'
        " ORDER BY i.number LIMIT 1",
        stored_text(inbox_item_id),
        stored_text(user),
    )
    return None if row is None else inbox_item_of(readable(row))


async def find_rules(
    db: DatabaseConnection, user: str | None, limit: int, offset: int
) -> list[Any]:
    """Returns rows of remembered rules, the newest first."""
    return list(
        await db.fetch(
            "SELECT r.conversation_id, r.rule_json, c.title"
            " FROM rules r JOIN conversations c USING (conversation_id)"
            ' WHERE $1::text IS NULL OR c."user" = $1'
            " ORDER BY r.given_at DESC, r.conversation_id, r.rule_id LIMIT $2 OFFSET $3",
            stored_text(user),
            limit,
            offset,
        )
    )


async def find_audit(
    db: DatabaseConnection, conversation_id: str | None, after: int, limit: int, base: int
) -> list[Any]:
    """Returns rows of the audit trail, in order, up to the oldest running transaction."""
    below = await settled_number(db, base)
    more = "AND conversation_id = $4" if conversation_id is not None else ""
    named = [stored_text(conversation_id)] if conversation_id is not None else []
    return list(
        await db.fetch(
            f"SELECT {_select(AUDIT)} FROM audit WHERE number > $1 AND number < $2 {more}"
            " ORDER BY number LIMIT $3",
            after,
            below,
            limit,
            *named,
        )
    )


async def find_blob(db: DatabaseConnection, blob_id: str) -> tuple[bytes, str] | None:
    """Returns the bytes and the media type of a blob; None if it does not exist."""
    row = await db.fetchrow(
        "SELECT data, mime_type FROM blobs WHERE blob_id = $1", stored_text(blob_id)
    )
    return None if row is None else (row[0], readable(row)[1])


async def find_blob_row(db: DatabaseConnection, blob_id: str) -> BlobRow | None:
    """Returns the metadata of a blob; None if it does not exist."""
    row = await db.fetchrow(
        'SELECT blob_id, mime_type, octet_length(data), "user", conversation_id FROM blobs'
        " WHERE blob_id = $1",
        stored_text(blob_id),
    )
    return None if row is None else BlobRow(*readable(row))
