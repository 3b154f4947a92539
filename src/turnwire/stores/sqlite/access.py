"""Rows of tokens and tickets. The store keeps only their digests."""

from __future__ import annotations

from typing import Any

import apsw

from turnwire.core.text import clean
from turnwire.core.times import iso
from turnwire.ports import OverQuota, Ticket, Token

__all__ = [
    "add_ticket",
    "add_token",
    "find_token",
    "find_tokens",
    "forget_tokens",
    "revoke_token",
    "take_ticket",
    "void_tickets",
]

_COLUMNS = "token_id, name, kind, user, created_at, expires_at, revoked_at"


def add_token(db: apsw.Cursor, token: Token, digest: bytes) -> None:
    """Adds a token."""
    db.execute(
        "INSERT INTO tokens (token_id, digest, name, kind, user, created_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            clean(token.token_id),
            digest,
            clean(token.name),
            token.kind,
            clean(token.user),
            token.created_at,
            token.expires_at,
        ),
    )


def find_token(db: apsw.Connection, digest: bytes) -> Token | None:
    """Returns the token with this digest, revoked or not.

    Returns None if the token does not exist.
    """
    row = db.execute(f"SELECT {_COLUMNS} FROM tokens WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else Token(*row)


def find_tokens(db: apsw.Connection) -> list[Token]:
    """Returns all tokens, the oldest first."""
    found = db.execute(f"SELECT {_COLUMNS} FROM tokens ORDER BY created_at, rowid")
    return [Token(*row) for row in found]


def revoke_token(db: apsw.Cursor, token_id: str, at: str) -> bool:
    """Revokes a token, and deletes the tickets issued with it.

    Returns False if the token does not exist or is already revoked.
    """
    db.execute(
        "UPDATE tokens SET revoked_at = ? WHERE token_id = ? AND revoked_at IS NULL",
        (at, clean(token_id)),
    )
    revoked = bool(db.connection.changes())
    db.execute("DELETE FROM tickets WHERE token_id = ?", (clean(token_id),))
    return revoked


def forget_tokens(db: apsw.Cursor, before: int) -> None:
    """Deletes tokens and tickets that expired or were revoked before that time."""
    db.execute(
        "DELETE FROM tokens WHERE expires_at <= ?1 OR revoked_at <= ?2", (before, iso(before))
    )
    db.execute("DELETE FROM tickets WHERE expires_at <= ?", (before,))


def add_ticket(
    db: apsw.Cursor, ticket: Ticket, digest: bytes, now: int, most: int | None = None
) -> bool:
    """Adds a ticket, and deletes expired tickets.

    Returns False if the ticket's token is void. Raises OverQuota if the token has `most` tickets
    open.
    """
    db.execute("DELETE FROM tickets WHERE expires_at <= ?", (now,))
    if _is_void(db, ticket.token_id, now):
        return False
    if most is not None:
        token = (clean(ticket.token_id), ticket.kind)
        counted = "SELECT count(*) FROM tickets WHERE token_id = ? AND kind = ?"
        there: Any = db.execute(counted, token).get
        if there >= most:
            raise OverQuota(f"{there} tickets are open.", kept=there, quota=most)
    db.execute(
        "INSERT INTO tickets (digest, kind, user, token_id, expires_at) VALUES (?, ?, ?, ?, ?)",
        (digest, ticket.kind, clean(ticket.user), clean(ticket.token_id), ticket.expires_at),
    )
    return True


def take_ticket(db: apsw.Cursor, digest: bytes, kind: str, now: int) -> Ticket | None:
    """Consumes a ticket: only the first caller gets it. Returns None if the ticket is not valid."""
    found: list[Any] = db.execute(
        "DELETE FROM tickets WHERE digest = ? AND kind = ?"
        " RETURNING kind, user, token_id, expires_at",
        (digest, kind),
    ).fetchall()  # fetch all rows: an unfinished statement blocks the next one
    taken = [Ticket(*row) for row in found]
    if not taken or taken[0].expires_at <= now or _is_void(db, taken[0].token_id, now):
        return None
    return taken[0]


def void_tickets(db: apsw.Cursor, user: str) -> None:
    """Deletes the tickets of a user."""
    db.execute("DELETE FROM tickets WHERE user = ?", (clean(user),))


def _is_void(db: apsw.Cursor, token_id: str, now: int) -> bool:
    """Returns whether the token is stored and is expired or revoked.

    Users of an embedding application have no stored token.
    """
    found = db.execute(
        "SELECT 1 FROM tokens WHERE token_id = ? AND (revoked_at IS NOT NULL OR expires_at <= ?)",
        (clean(token_id), now),
    )
    return bool(found.fetchall())
