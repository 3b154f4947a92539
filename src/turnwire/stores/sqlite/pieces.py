"""Rows of session pieces, and the node that a conversation is pinned to."""

from __future__ import annotations

from typing import Any

import apsw

from turnwire.core.text import clean
from turnwire.ports import Claim, Fenced, SessionPiece
from turnwire.stores.commit_rows import Row

__all__ = ["ADD_PIECE", "COPY_PIECES", "find_pieces", "forget_pieces", "piece_row", "pin"]

ADD_PIECE = """
INSERT INTO session_pieces (conversation_id, session_id, name, data) VALUES (?, ?, ?, ?)
"""
# A fork begins with the session of its parent, until it has one of its own.
COPY_PIECES = """
INSERT INTO session_pieces (conversation_id, session_id, name, data)
SELECT ?1, session_id, name, data FROM session_pieces
WHERE conversation_id = ?2 AND session_id = ?3 ORDER BY number
"""
_HOLDS = "SELECT 1 FROM conversations WHERE conversation_id = ? AND fence = ? AND owner = ?"


def piece_row(conversation_id: str, piece: SessionPiece) -> Row:
    """Returns the row of a piece."""
    return (conversation_id, clean(piece.session_id), clean(piece.name), piece.data)


def find_pieces(db: apsw.Connection, conversation_id: str, session_id: str) -> list[SessionPiece]:
    """Returns the pieces of a session, in the order of their commits."""
    rows: list[Any] = db.execute(
        "SELECT session_id, name, data FROM session_pieces"
        " WHERE conversation_id = ? AND session_id = ? ORDER BY number",
        (clean(conversation_id), clean(session_id)),
    ).fetchall()
    return [SessionPiece(*row) for row in rows]


def forget_pieces(db: apsw.Cursor, claim: Claim, keep: str) -> None:
    """Deletes the pieces of all sessions but one. Raises Fenced."""
    _check(db, claim)
    db.execute(
        "DELETE FROM session_pieces WHERE conversation_id = ? AND session_id <> ?",
        (clean(claim.conversation_id), clean(keep)),
    )


def pin(db: apsw.Cursor, claim: Claim, node: str) -> None:
    """Pins a conversation to a node. Raises Fenced."""
    _check(db, claim)
    db.execute(
        "UPDATE conversations SET node = ? WHERE conversation_id = ?",
        (clean(node), clean(claim.conversation_id)),
    )


def _check(db: apsw.Cursor, claim: Claim) -> None:
    held = db.execute(_HOLDS, (clean(claim.conversation_id), claim.fence, clean(claim.owner)))
    if held.fetchone() is None:
        raise Fenced("Another owner has taken the conversation over, or it was deleted.")
