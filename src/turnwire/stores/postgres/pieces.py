"""Rows of session pieces, and the node that a conversation is pinned to."""

from __future__ import annotations

from turnwire.ports import Claim, Fenced, SessionPiece
from turnwire.stores.postgres.changes import add_stored
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.text import readable, stored_text

__all__ = ["copy_pieces", "find_pieces", "forget_pieces", "pin"]

_FIND = """
SELECT session_id, name, data FROM session_pieces
WHERE conversation_id = $1 AND session_id = $2 ORDER BY number
"""
# A fork begins with the session of its parent, until it has one of its own.
_COPY = """
WITH copied AS (
    INSERT INTO session_pieces (conversation_id, session_id, name, data)
    SELECT $1, session_id, name, data FROM session_pieces
    WHERE conversation_id = $2 AND session_id = $3 ORDER BY number
    RETURNING octet_length(data) AS size
)
SELECT coalesce(sum(size), 0)::bigint FROM copied
"""
_FORGET = """
WITH gone AS (
    DELETE FROM session_pieces WHERE conversation_id = $1 AND session_id <> $2
    RETURNING octet_length(data) AS size
)
SELECT coalesce(sum(size), 0)::bigint FROM gone
"""
_HOLD = """
SELECT "user" FROM conversations WHERE conversation_id = $1 AND fence = $2 AND owner = $3 FOR UPDATE
"""


async def find_pieces(
    db: DatabaseConnection, conversation_id: str, session_id: str
) -> list[SessionPiece]:
    """Returns the pieces of a session, in the order of their commits."""
    rows = await db.fetch(_FIND, stored_text(conversation_id), stored_text(session_id))
    return [SessionPiece(*readable(row)) for row in rows]


async def copy_pieces(db: DatabaseConnection, name: str, parent: str, session_id: str) -> int:
    """Copies the pieces of a session to a fork. Returns their bytes."""
    size: int = await db.fetchval(_COPY, name, parent, stored_text(session_id))
    return size


async def forget_pieces(db: DatabaseConnection, claim: Claim, keep: str) -> None:
    """Deletes the pieces of all sessions but one. Raises Fenced."""
    user = await _hold(db, claim)
    size = await db.fetchval(_FORGET, stored_text(claim.conversation_id), stored_text(keep))
    if size and user is not None:
        await add_stored(db, user, -size, 0)


async def pin(db: DatabaseConnection, claim: Claim, node: str) -> None:
    """Pins a conversation to a node. Raises Fenced."""
    await _hold(db, claim)
    await db.execute(
        "UPDATE conversations SET node = $2 WHERE conversation_id = $1",
        stored_text(claim.conversation_id),
        stored_text(node),
    )


async def _hold(db: DatabaseConnection, claim: Claim) -> str | None:
    """Locks the conversation of a claim, and returns its stored user. Raises Fenced."""
    name, owner = stored_text(claim.conversation_id), stored_text(claim.owner)
    held = await db.fetchrow(_HOLD, name, claim.fence, owner)
    if held is None:
        raise Fenced("Another owner has taken the conversation over, or it was deleted.")
    user: str | None = held[0]
    return user
