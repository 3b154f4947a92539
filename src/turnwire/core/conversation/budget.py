"""What a conversation and its user may spend, and whether they have.

What was spent is never counted in memory: of a conversation its state knows it, of a user the ledger
of the store, and both are written in the same commit as the turn that cost it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from turnwire.core.conversation.state import Conversation, budget_of
from turnwire.core.error_codes import Refused
from turnwire.core.status import Budget, TurnError
from turnwire.core.times import iso

__all__ = [
    "BudgetPeriod",
    "UserBudget",
    "budget_spent",
    "check_budgets",
    "left_to_spend",
    "period_of",
]

BudgetPeriod: TypeAlias = Literal["day", "month", "ever"]  # in UTC

_DAY = 86_400_000


class UserBudget(Struct, frozen=True, omit_defaults=True, gc=False):
    """A user's, as the ledger has it at a moment."""

    spent: float  # dollars, in this period
    limit: float
    resets_at: str | None = None  # ISO 8601, UTC; none: never


def left_to_spend(c: Conversation, user: UserBudget | None) -> float | None:
    """What the next turn may cost at most; none: whatever it takes."""
    budgets = [each for each in (budget_of(c), user) if each is not None]
    return min((max(each.limit - each.spent, 0.0) for each in budgets), default=None)


def check_budgets(c: Conversation, user: UserBudget | None) -> None:
    """Raises Refused where nothing is left."""
    own = budget_of(c)
    if own is not None and own.spent >= own.limit:
        raise Refused(
            "BUDGET_EXCEEDED", _own_words(own), of="conversation", spent=own.spent, limit=own.limit
        )
    if user is not None and user.spent >= user.limit:
        when = f" Go on after {user.resets_at}, or" if user.resets_at else " To go on,"
        said = f"{_dollars(user.spent)} of the {_dollars(user.limit)} of this user are spent."
        raise Refused(
            "BUDGET_EXCEEDED",
            f"{said}{when} have the limit raised (budget_usd_per_user).",
            of="user",
            spent=user.spent,
            limit=user.limit,
            resets_at=user.resets_at,
        )


def budget_spent(c: Conversation, said: str) -> TurnError:
    """Why a turn has ended that the agent stopped because its budget was spent, in its own words
    where that was not the conversation's.
    """
    own = budget_of(c)
    is_own = own is not None and own.spent >= own.limit
    return TurnError("BUDGET_EXCEEDED", _own_words(own) if own is not None and is_own else said)


def _own_words(own: Budget) -> str:
    return (
        f"{_dollars(own.spent)} of the {_dollars(own.limit)} that this conversation may cost are"
        " spent. Start another one, or fork this one: a fork has a budget of its own."
    )


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 else f"${amount:.4g}"


def period_of(period: BudgetPeriod, now: int) -> tuple[str | None, str | None]:
    """When the period began that it is in now, and when the next one begins."""
    if period == "ever":
        return None, None
    if period == "day":
        start = now // _DAY * _DAY
        return iso(start), iso(start + _DAY)
    today = iso(now)
    year, month = int(today[:4]), int(today[5:7])
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return f"{today[:7]}-01T00:00:00.000Z", f"{following[0]:04}-{following[1]:02}-01T00:00:00.000Z"
