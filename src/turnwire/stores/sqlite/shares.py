"""Each user's share of common resources: reserved budget and stored bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apsw

from turnwire.core.text import clean
from turnwire.ports import Claim, Fenced, Reserved, Stored
from turnwire.stores.sqlite.nodes import HELD_UNTIL
from turnwire.stores.sqlite.rows import find_spent

__all__ = ["SETTLE", "find_stored", "reserve"]

SETTLE = "DELETE FROM reservations WHERE conversation_id = ?"

# Counts reservations whose owner still holds the conversation: same fence, and a lease runs.
_HELD = f"""
SELECT total(r.amount_usd)
FROM reservations AS r JOIN conversations AS c USING (conversation_id)
WHERE r.user IS ?1 AND r.conversation_id <> ?2
    AND c.fence = r.fence AND c.owner IS NOT NULL AND {HELD_UNTIL} > ?3
"""
_RESERVE = """
INSERT INTO reservations (conversation_id, user, fence, amount_usd) VALUES (?, ?, ?, ?)
ON CONFLICT (conversation_id) DO UPDATE SET
    user = excluded.user, fence = excluded.fence, amount_usd = excluded.amount_usd
"""


def reserve(
    db: apsw.Cursor,
    claim: Claim,
    choose: Callable[[float, float], float],
    since: str | None,
    now: int,
) -> Reserved:
    """Reserves the amount that `choose` returns, in the open transaction. Raises Fenced."""
    name = clean(claim.conversation_id)
    found: Any = db.execute(
        "SELECT user FROM conversations WHERE conversation_id = ? AND fence = ? AND owner = ?",
        (name, claim.fence, clean(claim.owner)),
    ).fetchall()
    if not found:
        raise Fenced("Another owner has taken the conversation over, or it was deleted.")
    [[user]] = found
    spent = find_spent(db.connection, user, since)
    held: Any = db.execute(_HELD, (user, name, now)).get
    amount = choose(spent, held)
    if amount > 0:
        db.execute(_RESERVE, (name, user, claim.fence, amount))
    return Reserved(max(amount, 0.0), spent, held)


def find_stored(db: apsw.Connection, user: str) -> Stored:
    """Returns how much a user has stored."""
    found: Any = db.execute(
        "SELECT bytes, conversations FROM stored WHERE user = ?", (clean(user),)
    ).fetchall()
    return Stored(*found[0]) if found else Stored()
