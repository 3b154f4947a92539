"""What the agent of one conversation may spend, reserved from the budget of its user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

from msgspec import structs

from turnwire.core.conversation.budget import UserBudget, check_budgets, left_to_spend, share_of
from turnwire.core.conversation.state import Conversation, spent_by
from turnwire.core.error_codes import Refused
from turnwire.engine.actor.budget import NO_LIMIT, Allowance, UserBudgets
from turnwire.ports import AgentCapabilities, Claim

__all__ = ["Spending", "only_asks", "works"]


class _Retry(Protocol):
    async def __call__(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Repeats the work until the store is available."""


class Spending:
    """The allowances of an agent, and the amount that is reserved for its turn."""

    def __init__(
        self, budgets: UserBudgets, claim: Claim, user: str | None, with_retries: _Retry
    ) -> None:
        self._budgets = budgets
        self._claim = claim
        self._user = user
        self._with_retries = with_retries
        self._holds = False  # budget may be reserved for its turn

    def settles(self, state: Conversation) -> bool:
        """Returns whether a commit of this state ends the reservation."""
        return self._holds and not works(state)

    def is_published(self, state: Conversation) -> None:
        """Lets the next turn of the user reserve, if this state has ended the reservation."""
        if self.settles(state):
            self._holds = False
            self._budgets.notify_settled(self._user)

    async def budget_of_user(self, able: AgentCapabilities) -> UserBudget | None:
        """Returns the budget of the user. Returns None if there is no limit or no cost."""
        if able.is_free:
            return None
        return await self._budgets.budget_of(self._user)

    async def allowance(
        self, current: Callable[[], Conversation], able: AgentCapabilities
    ) -> Allowance:
        """Returns what an agent without a turn may spend. Reserves nothing.

        `current` returns the state, which may change while the store is waited for.
        """
        user = await self._with_retries(lambda: self.budget_of_user(able))
        state = current()
        own = left_to_spend(state, None)
        if user is None:
            return _allowed(state, own)
        share = share_of(user.limit, user.spent, 0.0, most=own, keeps=able.keeps_budget)
        return _allowed(state, share)

    async def reserve(
        self, current: Callable[[], Conversation], able: AgentCapabilities, before: Allowance | None
    ) -> Allowance:
        """Returns what the agent may spend in its next turn, reserved from its user's budget.

        `before` is the allowance of the open session. Reserves nothing for a free agent.
        """
        state = current()
        try:
            check_budgets(state, None)
            own = left_to_spend(state, None)
            ceiling = None if before is None else before.ceiling
            choose = partial(
                share_of,
                most=own,
                keeps=able.keeps_budget,
                prefers=None if ceiling is None else ceiling - spent_by(state),
                is_fixed=bool(state.background),
            )
            if able.is_free:
                return _allowed(state, own)
            self._holds = self._budgets.is_limited
            amount = await self._with_retries(
                lambda: self._budgets.reserve(self._claim, self._user, choose)
            )
        except Refused as spent:
            return structs.replace(NO_LIMIT, refused=spent)
        return _allowed(current(), own if amount is None else amount)


def works(state: Conversation) -> bool:
    """Returns whether the agent works, and so may spend money."""
    return bool(state.background or (state.turn is not None and state.turn.phase != "suspended"))


def only_asks(state: Conversation) -> bool:
    """Returns whether the agent does nothing but wait for answers that a new agent accepts."""
    asked = {request.request_id for request in state.requests if request.kind == "question"}
    waits = bool(asked) and len(asked) == len(state.requests) and state.tools.keys() <= asked
    return waits and state.options.questions_survive and not state.background


def _allowed(state: Conversation, left: float | None) -> Allowance:
    if left is None:
        return NO_LIMIT
    ceiling = left + spent_by(state)
    return Allowance(left, ceiling, None, bool(state.background))
