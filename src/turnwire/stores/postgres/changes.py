"""Writes outside of commits: conversations, owners and blobs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from turnwire.core.conversation.state import Conversation
from turnwire.core.error_codes import Refused
from turnwire.core.text import clean, json_text
from turnwire.ports import Claim, Conflict, NewConversation, OverQuota, Owned
from turnwire.stores.commit_rows import (
    Row,
    activity_of,
    audit_row,
    is_unsettled,
    item_row,
    request_row,
)
from turnwire.stores.conversation_list import labels_json
from turnwire.stores.new_conversation import first_state
from turnwire.stores.postgres.audit import NUMBER
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.nodes import HELD_UNTIL, NOW, SHIFT, expel_node
from turnwire.stores.postgres.text import readable, storable, stored_text
from turnwire.stores.postgres.versions import Versions

__all__ = [
    "ADD_STORED",
    "COUNTED_PART",
    "SIZE_OF_LOG",
    "add_audit",
    "add_conversation",
    "add_row",
    "add_stored",
    "change_conversation",
    "claim_conversation",
    "delete_conversation",
    "put_blob",
    "release_claim",
]

# The part of the counters that is changed outside of commits.
COUNTED_PART = -1
ADD_STORED = f"""
INSERT INTO stored AS s ("user", part, bytes, conversations) VALUES ($1, {COUNTED_PART}, $2, $3)
ON CONFLICT ("user", part) DO UPDATE SET bytes = s.bytes + excluded.bytes,
    conversations = s.conversations + excluded.conversations
"""
_ADD_CONVERSATION = """
INSERT INTO conversations (conversation_id, agent, "user", title, cwd, options, parent_id,
    forked_at, native_session_id, native_from, native_from_session, created_at, updated_at, head,
    unsettled, activity, state_json, node)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14, $15, $16, $17)
ON CONFLICT DO NOTHING RETURNING true
"""
_OPEN_REQUEST = """
INSERT INTO requests (conversation_id, request_id, kind, request_json, opened_at, deadline_at)
VALUES ($1, $2, $3, $4, $5, $6)
"""
_OPEN_ITEM = """
INSERT INTO inbox_items (source_id, inbox_item_id, kind, conversation_id, request_id, created_at)
VALUES ($1, $2, 'await_user_input', $3, $4, $5)
"""
_ADD_AUDIT = f"""
INSERT INTO audit (number, at, action, conversation_id, by, trace_id, data_json)
VALUES ({NUMBER.format(base="$1::bigint", nth="$2::bigint")}, $3, $4, $5, $6, $7, $8)
"""


async def add_stored(db: DatabaseConnection, user: str, size: int, conversations: int) -> None:
    """Counts what a user stores outside of commits."""
    await db.execute(ADD_STORED, user, size, conversations)


async def add_audit(db: DatabaseConnection, base: int, *rows: Row, first: int = 1) -> None:
    """Adds rows to the audit trail. `first` is the place of the first one in its transaction."""
    for nth, row in enumerate(rows, first):
        await db.execute(_ADD_AUDIT, base, nth, *map(storable, row))


# --- conversations --------------------------------------------------------------------------------


async def add_conversation(db: DatabaseConnection, new: NewConversation) -> None:
    """Creates a conversation with an empty log."""
    state = first_state(new)
    await add_row(db, new, state)
    name = clean(new.conversation_id)
    for request in state.requests:
        await db.execute(_OPEN_REQUEST, *map(storable, request_row(name, request, new.created_at)))
        await db.execute(_OPEN_ITEM, *map(storable, item_row(name, request, new.created_at)))


async def add_row(db: DatabaseConnection, new: NewConversation, state: Conversation) -> str:
    """Inserts the row of a conversation, and returns its name. Raises Conflict if it exists."""
    name, user = stored_text(new.conversation_id), stored_text(new.user)
    state_json, options = storable(json_text(state)), storable(json_text(new.options))
    native = new.native_from
    added = await db.fetchval(
        _ADD_CONVERSATION,
        name,
        stored_text(new.agent),
        user,
        stored_text(state.title),
        stored_text(new.cwd),
        options,
        stored_text(new.parent_id),
        new.forked_at,
        stored_text(new.native_session_id),
        None if native is None else storable(json_text(native)),
        None if native is None else stored_text(native.session_id),
        new.created_at,
        state.head,
        is_unsettled(state),
        activity_of(state),
        state_json,
        stored_text(new.node),
    )
    if not added:
        raise Conflict(f"The conversation {name} already exists.")
    if user is not None:
        await add_stored(db, user, _size(state_json) + _size(options), 1)
    return str(name)


async def change_conversation(
    db: DatabaseConnection,
    conversation_id: str,
    archived: bool | None,
    pinned: bool | None,
    labels: Sequence[str] | None,
) -> None:
    """Changes what a person decides about a conversation; None leaves a field as it is."""
    changed = await db.fetchval(
        "UPDATE conversations SET archived = coalesce($2, archived),"
        " pinned = coalesce($3, pinned), labels = coalesce($4, labels)"
        " WHERE conversation_id = $1 RETURNING true",
        stored_text(conversation_id),
        archived,
        pinned,
        labels_json(labels),
    )
    if not changed:
        raise _not_found(conversation_id)


SIZE_OF_LOG = """
SELECT coalesce(sum(octet_length(message_json) + coalesce(octet_length(metadata_json), 0)), 0)
    + (SELECT coalesce(sum(octet_length(data)), 0) FROM session_pieces WHERE conversation_id = $1)
FROM messages WHERE conversation_id = $1
"""
# Blobs that the conversation used, or that were uploaded for it. A commit that begins to use one of
# them holds it, too: either this waits for the commit and then sees the use, or the blob is gone
# before the commit. Of several deletions of conversations, the last one sees that no use is left.
_HOLD_BLOBS = """
SELECT blob_id FROM blobs
WHERE blob_id IN (
    SELECT blob_id FROM blob_uses WHERE conversation_id = $1
    UNION SELECT blob_id FROM blobs WHERE conversation_id = $1
)
ORDER BY blob_id FOR UPDATE
"""
_DELETE_BLOBS = """
DELETE FROM blobs
WHERE blob_id = ANY($2::text[]) AND NOT EXISTS (
    SELECT 1 FROM blob_uses AS other
    WHERE other.blob_id = blobs.blob_id AND other.conversation_id <> $1
)
RETURNING "user", octet_length(data)
"""
_TABLES = (
    *("search", "search_long", "search_progress", "messages", "turns", "inbox_items", "requests"),
    *("receipts", "blob_uses", "partials", "reservations", "connection_sessions", "set_aside"),
    *("session_pieces", "rules"),
)


async def delete_conversation(
    db: DatabaseConnection, conversation_id: str, at: str, by: str | None, audit_base: int
) -> None:
    """Deletes a conversation with all its data, and notes the deletion in the audit trail."""
    name = stored_text(conversation_id)
    found = await db.fetchrow(
        'SELECT "user", octet_length(state_json) + octet_length(options) FROM conversations'
        " WHERE conversation_id = $1 FOR UPDATE",
        name,
    )
    if found is None:
        raise _not_found(conversation_id)
    user, size = found
    freed: dict[str, tuple[int, int]] = {}
    if user is not None:
        freed[user] = (size + await db.fetchval(SIZE_OF_LOG, name), 1)
    held = [blob_id for (blob_id,) in await db.fetch(_HOLD_BLOBS, name)]
    for owner, length in await db.fetch(_DELETE_BLOBS, name, held):
        if owner is not None:
            before, count = freed.get(owner, (0, 0))
            freed[owner] = (before + length, count)
    for table in (*_TABLES, "conversations"):
        await db.execute(f"DELETE FROM {table} WHERE conversation_id = $1", name)
    for owner, (length, count) in sorted(freed.items()):
        await add_stored(db, owner, -length, -count)
    await add_audit(
        db, audit_base, audit_row(at, "deleted", clean(conversation_id), by, None, None)
    )


def _not_found(conversation_id: str) -> Refused:
    return Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)


def _size(text: str) -> int:
    return len(text.encode())


# --- owners ---------------------------------------------------------------------------------------

# Takes a conversation that no owner has, or whose owner has neither a lease nor a node.
_CLAIM = f"""
UPDATE conversations c SET fence = c.fence + 1, owner = $2, lease_until = n.now + $3,
    claimed_version = c.version
FROM (SELECT {NOW.format(now="$4")} AS now) AS n
WHERE c.conversation_id = $1
    AND (c.owner IS NULL OR c.owner = $2 OR (
        c.lease_until <= n.now AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.owner = c.owner)
    ))
RETURNING c.fence, c.version, octet_length(c.state_json)
"""
_HOLDER = f"""
SELECT c.owner, {HELD_UNTIL} > {NOW.format(now="$2")}, {HELD_UNTIL} + {SHIFT.format(clock="$3")}
FROM conversations AS c WHERE c.conversation_id = $1
"""


async def claim_conversation(
    db: DatabaseConnection,
    versions: Versions,
    conversation_id: str,
    owner: str,
    now: int | None,
    lease: int,
    clock: int | None,
) -> Claim:
    """Claims a conversation for an owner. Raises Owned while another owner holds it.

    Expels the node of the former owner, whose other conversations are then abandoned, too. `clock`
    is the caller's time.
    """
    name = stored_text(conversation_id)
    arguments = (name, stored_text(owner), lease, now)
    got = await db.fetchrow(_CLAIM, *arguments)
    while got is None:
        row = await db.fetchrow(_HOLDER, name, now, clock)
        if row is None:
            raise _not_found(conversation_id)
        other, is_held, until = row
        if is_held:
            [other] = readable([other])
            raise Owned(f"The conversation is owned by {other}.", owner=other, lease_until=until)
        # The node cannot renew its lease between both statements: its row is locked, or gone.
        async with db.transaction():
            if other is not None:  # else it was released meanwhile
                await expel_node(db, other, now)
            got = await db.fetchrow(_CLAIM, *arguments)
    fence, version, state_bytes = got
    versions.set(name, version, state_bytes)
    return Claim(conversation_id, readable([stored_text(owner)])[0], fence)


async def release_claim(db: DatabaseConnection, claim: Claim) -> None:
    """Releases a claim. A newer claim of another owner stays."""
    await db.execute(
        "UPDATE conversations SET owner = NULL, lease_until = 0"
        " WHERE conversation_id = $1 AND fence = $2 AND owner = $3",
        stored_text(claim.conversation_id),
        claim.fence,
        stored_text(claim.owner),
    )


# --- blobs ----------------------------------------------------------------------------------------


async def put_blob(
    db: DatabaseConnection,
    blob_id: str,
    data: bytes,
    mime_type: str,
    at: str,
    user: str | None,
    conversation_id: str | None,
    quota: int | None,
) -> None:
    """Stores a blob. Storing the same blob again changes nothing."""
    name, owner = stored_text(blob_id), stored_text(user)
    if quota is not None:
        await _check_quota(db, owner, len(data), quota)
    added = await db.fetchval(
        'INSERT INTO blobs (blob_id, mime_type, data, created_at, "user", conversation_id, sha256)'
        " VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING RETURNING true",
        name,
        stored_text(mime_type),
        data,
        at,
        owner,
        stored_text(conversation_id),
        hashlib.sha256(data).digest(),
    )
    if added:
        if owner is not None:
            await add_stored(db, owner, len(data), 0)
    elif not await db.fetchval("SELECT data = $2 FROM blobs WHERE blob_id = $1", name, data):
        raise Conflict(f"Another blob already has the id {blob_id}.")


async def _check_quota(db: DatabaseConnection, user: str | None, more: int, quota: int) -> None:
    """Raises OverQuota if the user's stored bytes would exceed the quota."""
    kept = 0
    if user is not None:
        # Of several blobs of a user, each knows of the others.
        await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", user)
        total = 'SELECT coalesce(sum(bytes), 0)::bigint FROM stored WHERE "user" = $1'
        kept = await db.fetchval(total, user)
    if kept + more > quota:
        said = f"With these {more:,} bytes the user would store more than {quota:,}."
        raise OverQuota(said, kept=kept, quota=quota)
