"""Rows of tokens and tickets. The store keeps only their digests."""

from __future__ import annotations

from turnwire.core.times import iso
from turnwire.ports import OverQuota, Ticket, Token
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.nodes import NOW
from turnwire.stores.postgres.text import readable, stored_text

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

_COLUMNS = 'token_id, name, kind, "user", created_at, expires_at, revoked_at'


async def add_token(db: DatabaseConnection, token: Token, digest: bytes) -> None:
    """Adds a token. Raises a unique violation if it exists already."""
    await db.execute(
        'INSERT INTO tokens (token_id, digest, name, kind, "user", created_at, expires_at)'
        " VALUES ($1, $2, $3, $4, $5, $6, $7)",
        stored_text(token.token_id),
        digest,
        stored_text(token.name),
        token.kind,
        stored_text(token.user),
        token.created_at,
        token.expires_at,
    )


async def find_token(db: DatabaseConnection, digest: bytes) -> Token | None:
    """Returns the token with this digest, revoked or not; None if it does not exist."""
    row = await db.fetchrow(f"SELECT {_COLUMNS} FROM tokens WHERE digest = $1", digest)
    return None if row is None else Token(*readable(row))


async def find_tokens(db: DatabaseConnection) -> list[Token]:
    """Returns all tokens, the oldest first."""
    rows = await db.fetch(f"SELECT {_COLUMNS} FROM tokens ORDER BY created_at, number")
    return [Token(*readable(row)) for row in rows]


async def revoke_token(db: DatabaseConnection, token_id: str, at: str) -> bool:
    """Revokes a token, and deletes the tickets issued with it.

    Returns False if the token does not exist or is already revoked.
    """
    name = stored_text(token_id)
    revoked = await db.fetchval(
        "UPDATE tokens SET revoked_at = $2 WHERE token_id = $1 AND revoked_at IS NULL"
        " RETURNING true",
        name,
        at,
    )
    await db.execute("DELETE FROM tickets WHERE token_id = $1", name)
    return bool(revoked)


async def forget_tokens(db: DatabaseConnection, before: int, now: int | None) -> None:
    """Deletes tokens that expired or were revoked before that time, and expired tickets."""
    await db.execute(
        "DELETE FROM tokens WHERE expires_at <= $1 OR revoked_at <= $2", before, iso(before)
    )
    await db.execute(_DELETE_EXPIRED, now)


# Tickets expire by the clock of the server. Callers see the time by their own clock.
_DELETE_EXPIRED = f"DELETE FROM tickets WHERE expires_at <= {NOW.format(now='$1')}"
_ADD_TICKET = f"""
INSERT INTO tickets (digest, kind, "user", token_id, expires_at)
VALUES ($1, $2, $3, $4, {NOW.format(now="$6")} + $5)
"""
_TAKE_TICKET = f"""
DELETE FROM tickets WHERE digest = $1 AND kind = $2
RETURNING kind, "user", token_id, expires_at - {NOW.format(now="$3")} AS valid_for
"""


async def add_ticket(
    db: DatabaseConnection,
    ticket: Ticket,
    digest: bytes,
    now: int,
    most: int | None,
    server_now: int | None,
) -> bool:
    """Adds a ticket, and deletes expired tickets.

    Returns False if the ticket's token is void. Raises OverQuota if the token has `most` tickets
    open.
    """
    token_id = stored_text(ticket.token_id)
    await db.execute(_DELETE_EXPIRED, server_now)
    if await _is_void(db, token_id, now):
        return False
    if most is not None:
        await db.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 3))", token_id)
        counted = "SELECT count(*) FROM tickets WHERE token_id = $1 AND kind = $2"
        there = await db.fetchval(counted, token_id, ticket.kind)
        if there >= most:
            raise OverQuota(f"{there} tickets are open.", kept=there, quota=most)
    await db.execute(
        _ADD_TICKET,
        digest,
        ticket.kind,
        stored_text(ticket.user),
        token_id,
        ticket.expires_at - now,
        server_now,
    )
    return True


async def take_ticket(
    db: DatabaseConnection, digest: bytes, kind: str, now: int, server_now: int | None
) -> Ticket | None:
    """Consumes a ticket: only the first caller gets it. Returns None if the ticket is not valid."""
    row = await db.fetchrow(_TAKE_TICKET, digest, kind, server_now)
    if row is None or row["valid_for"] <= 0 or await _is_void(db, row["token_id"], now):
        return None
    kind, user, token_id, valid_for = readable(row)
    return Ticket(kind, user, token_id, now + valid_for)


async def void_tickets(db: DatabaseConnection, user: str) -> None:
    """Deletes the tickets of a user."""
    await db.execute('DELETE FROM tickets WHERE "user" = $1', stored_text(user))


async def _is_void(db: DatabaseConnection, token_id: str, now: int) -> bool:
    """Returns whether the token is stored and is expired or revoked.

    The token stays locked, so that it is not revoked before the ticket is stored.
    """
    row = await db.fetchrow(
        "SELECT revoked_at IS NOT NULL OR coalesce(expires_at <= $2, false) FROM tokens"
        " WHERE token_id = $1 FOR SHARE",
        token_id,
        now,
    )
    return row is not None and bool(row[0])
