"""Each user's share of common resources: reserved budget and stored bytes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from turnwire.ports import Claim, Fenced, Reserved, Stored
from turnwire.stores.postgres.connection import DatabaseConnection
from turnwire.stores.postgres.nodes import HELD_UNTIL, NOW
from turnwire.stores.postgres.text import stored_text

__all__ = ["find_spent", "find_stored", "reserve"]

# Whole days are counted already; the ledger is read only for a day that counts in part.
_SPENT = """
(SELECT coalesce(sum(cost_usd), 0) FROM spent WHERE "user" IS NOT DISTINCT FROM $1 AND day >= $2)
+ (SELECT coalesce(sum(cost_usd), 0) FROM ledger
    WHERE "user" IS NOT DISTINCT FROM $1 AND at >= $3 AND at < $4)
"""
# Counts reservations whose owner still holds the conversation: same fence, and a lease runs.
_HELD = f"""
(SELECT coalesce(sum(r.amount_usd), 0)
FROM reservations AS r JOIN conversations AS c USING (conversation_id)
WHERE r."user" IS NOT DISTINCT FROM $1 AND r.conversation_id <> $5
    AND c.fence = r.fence AND c.owner IS NOT NULL AND {HELD_UNTIL} > {NOW.format(now="$6")})
"""
_SPENT_AND_HELD = f"SELECT {_SPENT}, {_HELD}"
_RESERVE = """
INSERT INTO reservations (conversation_id, "user", fence, amount_usd) VALUES ($1, $2, $3, $4)
ON CONFLICT (conversation_id) DO UPDATE SET
    "user" = excluded."user", fence = excluded.fence, amount_usd = excluded.amount_usd
"""


async def reserve(
    db: DatabaseConnection,
    claim: Claim,
    choose: Callable[[float, float], float],
    since: str | None,
    now: int | None,
) -> Reserved:
    """Reserves the amount that `choose` returns, in the open transaction. Raises Fenced."""
    name = stored_text(claim.conversation_id)
    found = await db.fetchrow(
        'SELECT "user" FROM conversations WHERE conversation_id = $1 AND fence = $2 AND owner = $3'
        " FOR SHARE",
        name,
        claim.fence,
        stored_text(claim.owner),
    )
    if found is None:
        raise Fenced("Another owner has taken the conversation over, or it was deleted.")
    (user,) = found
    # Of several turns of a user that reserve at once, each knows what the others got.
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended(coalesce($1, ''), 2))", user)
    # In one statement: a turn that ends meanwhile is either reserved or spent.
    days, part = _since(since)
    row = await db.fetchrow(_SPENT_AND_HELD, user, *days, *part, name, now)
    spent, held = map(float, row)
    amount = choose(spent, held)
    if amount > 0:
        await db.execute(_RESERVE, name, user, claim.fence, amount)
    return Reserved(max(amount, 0.0), spent, held)


async def find_spent(db: DatabaseConnection, user: str | None, since: str | None) -> float:
    """Returns the cost of a stored user's turns in USD, since a time if one is given."""
    days, part = _since(since)
    return float(await db.fetchval(f"SELECT {_SPENT}", user, *days, *part))


def _since(since: str | None) -> tuple[tuple[str], tuple[str, str]]:
    """Returns the first whole day, and the part of a day before it; both may be empty."""
    if since is None or len(since) < 10 or since[10:] in ("", "T00:00:00.000Z"):
        return ((since or "")[:10],), ("", "")
    day = datetime.fromisoformat(since[:10]).replace(tzinfo=UTC)
    next_day = (day + timedelta(days=1)).strftime("%Y-%m-%d")
    return (next_day,), (since, next_day)


async def find_stored(db: DatabaseConnection, user: str) -> Stored:
    """Returns how much a user has stored."""
    row = await db.fetchrow(
        "SELECT coalesce(sum(bytes), 0)::bigint, coalesce(sum(conversations), 0)::bigint"
        ' FROM stored WHERE "user" = $1',
        stored_text(user),
    )
    return Stored(*row)
