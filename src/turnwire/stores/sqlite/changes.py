"""Writes outside of commits: conversations, owners and blobs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import apsw

from turnwire.core.conversation.state import Conversation
from turnwire.core.error_codes import Refused
from turnwire.core.text import clean, json_text
from turnwire.ports import Claim, Conflict, NewConversation, OverQuota, Owned
from turnwire.stores.commit_rows import activity_of, audit_row, is_unsettled
from turnwire.stores.conversation_list import labels_json
from turnwire.stores.new_conversation import first_state
from turnwire.stores.sqlite.commit import ADD_AUDIT, opened
from turnwire.stores.sqlite.erasing import mark_deleted
from turnwire.stores.sqlite.nodes import HELD_UNTIL, remove_node
from turnwire.stores.sqlite.shares import find_stored

__all__ = [
    "add_conversation",
    "add_row",
    "change_conversation",
    "claim_conversation",
    "delete_conversation",
    "put_blob",
    "release_claim",
]


# Blobs that the conversation used, or that were uploaded for it, unless another one uses them.
_DELETE_BLOBS = """
DELETE FROM blobs
WHERE (
        blob_id IN (SELECT blob_id FROM blob_uses WHERE conversation_id = ?1)
        OR conversation_id = ?1
    )
    AND NOT EXISTS (
        SELECT 1 FROM blob_uses AS other
        WHERE other.blob_id = blobs.blob_id AND other.conversation_id <> ?1
    )
"""


# --- conversations ------------------------------------------------------------------------------


def add_conversation(db: apsw.Cursor, new: NewConversation) -> None:
    """Creates a conversation with an empty log."""
    state = first_state(new)
    add_row(db, new, state)
    for request in state.requests:
        for sql, row in opened(clean(new.conversation_id), request, new.created_at):
            db.execute(sql, row)


def add_row(db: apsw.Cursor, new: NewConversation, state: Conversation) -> None:
    """Inserts the row of a conversation. Raises Conflict if the id is taken."""
    conversation_id = clean(new.conversation_id)
    db.execute(
        "INSERT INTO conversations (conversation_id, agent, user, title, cwd, options, parent_id,"
        " forked_at, native_session_id, native_from, node, created_at, updated_at, head,"
        " unsettled, activity, state_json)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            conversation_id,
            clean(new.agent),
            clean(new.user),
            clean(state.title),
            clean(new.cwd),
            json_text(new.options),
            clean(new.parent_id),
            new.forked_at,
            clean(new.native_session_id),
            None if new.native_from is None else json_text(new.native_from),
            clean(new.node),
            new.created_at,
            new.created_at,
            state.head,
            is_unsettled(state),
            activity_of(state),
            json_text(state),
        ),
    )
    if not db.connection.changes():
        raise Conflict(f"The conversation {conversation_id} already exists.")


def change_conversation(
    db: apsw.Cursor,
    conversation_id: str,
    archived: bool | None,
    pinned: bool | None,
    labels: Sequence[str] | None,
) -> None:
    """Changes what a person decides about a conversation; None leaves a field as it is."""
    db.execute(
        "UPDATE conversations SET archived = coalesce(?, archived), pinned = coalesce(?, pinned),"
        " labels = coalesce(?, labels) WHERE conversation_id = ?",
        (
            archived,
            pinned,
            labels_json(labels),
            clean(conversation_id),
        ),
    )
    if not db.connection.changes():
        raise _not_found(conversation_id)


def delete_conversation(db: apsw.Cursor, conversation_id: str, at: str, by: str | None) -> None:
    """Deletes a conversation with all its data, and notes the deletion in the audit trail."""
    conversation_id = clean(conversation_id)
    db.execute(
        "DELETE FROM search WHERE rowid IN (SELECT number FROM messages WHERE conversation_id = ?)",
        (conversation_id,),
    )
    db.execute(_DELETE_BLOBS, (conversation_id,))
    db.execute("DELETE FROM conversations WHERE conversation_id = ?", (conversation_id,))
    if not db.connection.changes():
        raise _not_found(conversation_id)
    db.execute(ADD_AUDIT, audit_row(at, "deleted", conversation_id, by, None, None))
    mark_deleted(db)


def _not_found(conversation_id: str) -> Refused:
    return Refused("CONVERSATION_NOT_FOUND", conversation_id=conversation_id)


# --- owners -------------------------------------------------------------------------------------


def claim_conversation(
    db: apsw.Cursor, conversation_id: str, owner: str, now: int, lease: int
) -> Claim:
    """Claims a conversation for an owner. Raises Owned while another owner holds it.

    Expels the node of the former owner, whose other conversations are then abandoned, too.
    """
    owner = clean(owner)
    row = db.execute(
        f"SELECT c.fence, c.owner, {HELD_UNTIL} FROM conversations AS c WHERE conversation_id = ?",
        (clean(conversation_id),),
    ).fetchone()
    if row is None:
        raise _not_found(conversation_id)
    fence, other, until = row
    if other is not None and other != owner:
        if until > now:
            raise Owned(f"The conversation is owned by {other}.", owner=other, lease_until=until)
        remove_node(db, other)
    db.execute(
        "UPDATE conversations SET fence = ?, owner = ?, lease_until = ? WHERE conversation_id = ?",
        (fence + 1, owner, now + lease, clean(conversation_id)),
    )
    return Claim(conversation_id, owner, fence + 1)


def release_claim(db: apsw.Cursor, claim: Claim) -> None:
    """Releases a claim. A newer claim of another owner stays."""
    db.execute(
        "UPDATE conversations SET owner = NULL, lease_until = 0"
        " WHERE conversation_id = ? AND fence = ? AND owner = ?",
        (clean(claim.conversation_id), claim.fence, clean(claim.owner)),
    )


# --- blobs --------------------------------------------------------------------------------------


def _check_quota(db: apsw.Cursor, user: str | None, more: int, quota: int) -> None:
    """Raises OverQuota if the user's stored bytes would exceed the quota; see table `stored`."""
    kept = 0 if user is None else find_stored(db.connection, user).bytes
    if kept + more > quota:
        said = f"With these {more:,} bytes the user would store more than {quota:,}."
        raise OverQuota(said, kept=kept, quota=quota)


def put_blob(
    db: apsw.Cursor,
    blob_id: str,
    data: bytes,
    mime_type: str,
    at: str,
    user: str | None,
    conversation_id: str | None,
    quota: int | None = None,
) -> None:
    """Stores a blob.

    Storing the same blob again changes nothing. Raises Conflict if the id has other bytes.
    """
    if quota is not None:
        _check_quota(db, user, len(data), quota)
    db.execute(
        "INSERT INTO blobs (blob_id, mime_type, data, created_at, user, conversation_id, sha256)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            clean(blob_id),
            clean(mime_type),
            data,
            at,
            clean(user),
            clean(conversation_id),
            hashlib.sha256(data).digest(),
        ),
    )
    if db.connection.changes():
        return
    (same,) = db.execute(
        "SELECT data = ? FROM blobs WHERE blob_id = ?", (data, clean(blob_id))
    ).fetchall()[0]
    if not same:
        raise Conflict(f"Another blob already has the id {blob_id}.")
