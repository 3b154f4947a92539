"""Budgets of conversations and users: limits, reservations and refusals.

Spending is never counted in memory. The conversation's state has its own, the store's ledger that
of a user. Both are written in the same commit as the turn that caused the cost.
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
    "check_reserved",
    "left_to_spend",
    "period_of",
    "share_of",
]

BudgetPeriod: TypeAlias = Literal["day", "month", "ever"]  # in UTC

_DAY = 86_400_000


class UserBudget(Struct, frozen=True, omit_defaults=True, gc=False):
    """A user's budget, as the ledger has it at one moment."""

    spent: float  # dollars, in the current period
    limit: float
    resets_at: str | None = None  # ISO 8601, UTC; None: never


def left_to_spend(c: Conversation, user: UserBudget | None) -> float | None:
    """Returns the maximum cost of the next turn. Returns None if there is no limit."""
    budgets = [each for each in (budget_of(c), user) if each is not None]
    return min((max(each.limit - each.spent, 0.0) for each in budgets), default=None)


def share_of(
    limit: float,
    spent: float,
    held: float,
    *,
    most: float | None = None,
    keeps: bool = True,
    prefers: float | None = None,
    is_fixed: bool = False,
) -> float:
    """Returns the amount to reserve of a user's budget for one turn; 0 if nothing is left.

    `held` is reserved for other turns, so all reservations together never exceed the limit. A turn
    gets half of the rest, or a twentieth of the limit if that is more. This leaves something for a
    concurrent turn, and gives each turn a useful amount. An agent that cannot stop by itself (not
    `keeps`) gets the whole rest, because it may spend it.

    `most` is the limit of the conversation itself. `prefers` is the amount that the agent's session
    may still spend. The turn gets that amount if it is available and more than half of a new
    session's share. Then the session can continue. With `is_fixed` the session continues in any
    case.
    """
    left = limit - spent - held
    if left <= 0:
        return 0.0
    share = min(left, max(left / 2, limit / 20)) if keeps else left
    share = share if most is None else min(share, most)
    if prefers is None or prefers <= 0:
        return share
    if is_fixed or (keeps and share / 2 <= prefers <= left):
        return min(prefers, left)
    return share


def check_budgets(c: Conversation, user: UserBudget | None) -> None:
    """Raises Refused if the conversation's or the user's budget is spent."""
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


def check_reserved(user: UserBudget, held: float) -> None:
    """Raises Refused: the user's budget is spent, or the rest is reserved for other turns."""
    check_budgets(Conversation(""), user)
    spent, limit = _dollars(user.spent), _dollars(user.limit)
    raise Refused(
        "BUDGET_EXCEEDED",
        f"{spent} of the {limit} of this user (budget_usd_per_user) are spent, and {_dollars(held)}"
        " are reserved for running turns. Send it again when one of them has ended.",
        of="user",
        spent=user.spent,
        reserved=held,
        limit=user.limit,
        resets_at=user.resets_at,
    )


def budget_spent(c: Conversation, said: str) -> TurnError:
    """Returns the error of a turn that the agent stopped because its budget was spent.

    The error has the agent's own message (`said`) unless the conversation's budget is spent.
    """
    own = budget_of(c)
    is_own = own is not None and own.spent >= own.limit
    return TurnError("BUDGET_EXCEEDED", _own_words(own) if own is not None and is_own else said)


def _own_words(own: Budget) -> str:
    return (
        f"{_dollars(own.spent)} of the {_dollars(own.limit)} that this conversation may cost are"
        " spent (its option max_budget_usd, or the setting budget_usd_per_conversation). Start another"
        " one, or fork this one: a fork has a budget of its own."
    )


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 else f"${amount:.4g}"


def period_of(period: BudgetPeriod, now: int) -> tuple[str | None, str | None]:
    """Returns the start of the current period and the start of the next one."""
    if period == "ever":
        return None, None
    if period == "day":
        start = now // _DAY * _DAY
        return iso(start), iso(start + _DAY)
    today = iso(now)
    year, month = int(today[:4]), int(today[5:7])
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return f"{today[:7]}-01T00:00:00.000Z", f"{following[0]:04}-{following[1]:02}-01T00:00:00.000Z"
