"""Limits what an agent may spend in its next turn, and reserves it from its user's budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from msgspec import Struct

from turnwire.core import events as ev
from turnwire.core.conversation.budget import (
    BudgetPeriod,
    UserBudget,
    check_reserved,
    period_of,
)
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.ports import Claim, Clock, Store

__all__ = ["NO_LIMIT", "Allowance", "UserBudgets", "not_begun"]

_NEAR = 1e-9  # dollars: sums of fractions are not exact
_WAIT_SECONDS = 60.0  # timeout in seconds: a turn waits for the reservation of another turn
_RETRY = 1.0  # seconds between two attempts: the other turn may run in another process


class Allowance(Struct, frozen=True):
    """What an agent may spend, computed from the log."""

    left: float | None = None  # dollars; None: no limit
    ceiling: float | None = None  # total cost of the conversation when `left` is spent
    refused: Refused | None = None  # why nothing may be spent
    is_busy: bool = False  # background work is running

    def differs_from(self, before: Allowance) -> bool:
        """Returns whether the allowance of an open session is out of date.

        Another conversation has spent some of it, or a new period allows more. Returns False while
        background work is running, which would end with the session.
        """
        if self.is_busy or self.ceiling is before.ceiling is None:
            return False
        if self.ceiling is None or before.ceiling is None:
            return True
        return abs(self.ceiling - before.ceiling) > _NEAR


NO_LIMIT = Allowance()


class UserBudgets:
    """The budgets of all users. The store has the ledger of costs and the reservations."""

    def __init__(
        self, store: Store, clock: Clock, limit: float | None, period: BudgetPeriod
    ) -> None:
        self._store = store
        self._clock = clock
        self._limit = limit
        self._period = period
        self._waiting: dict[str | None, set[asyncio.Future[None]]] = {}

    @property
    def is_limited(self) -> bool:
        """Whether users have a budget."""
        return self._limit is not None

    async def budget_of(self, user: str | None) -> UserBudget | None:
        """Returns what a user may spend and has spent. Returns None if there is no limit."""
        if self._limit is None:
            return None
        since, until = self._now()
        return UserBudget(await self._store.spent(user, since=since), self._limit, until)

    async def reserve(
        self,
        claim: Claim,
        user: str | None,
        choose: Callable[[float, float, float], float],
    ) -> float | None:
        """Reserves a part of a user's budget for a turn. Returns None if there is no limit.

        `choose` returns the part, given the limit, the costs, and the reservations of other turns.
        If the whole rest is reserved, waits until one of those turns ends. Raises Refused at the
        timeout, or if the budget is spent.
        """
        limit = self._limit
        if limit is None:
            return None
        loop = asyncio.get_running_loop()
        until = loop.time() + _WAIT_SECONDS
        while True:
            since, resets_at = self._now()
            with _Waiter(self._waiting, user) as settled:  # before the attempt, to miss no notice
                got = await self._store.reserve(
                    claim,
                    lambda spent, held: choose(limit, spent, held),
                    since=since,
                    now=self._clock.now(),
                )
                if got.amount > 0:
                    return got.amount
                if got.held <= 0 or loop.time() >= until:
                    check_reserved(UserBudget(got.spent, limit, resets_at), got.held)
                with suppress(TimeoutError):
                    await asyncio.wait_for(settled, _RETRY)

    def notify_settled(self, user: str | None) -> None:
        """Wakes the waiting turns of this user after a reservation was released."""
        for waiting in self._waiting.get(user, ()):
            if not waiting.done():
                waiting.set_result(None)

    def _now(self) -> tuple[str | None, str | None]:
        return period_of(self._period, self._clock.now())


class _Waiter:
    """A turn that waits for a reservation of its user to be released."""

    def __init__(
        self, waiting: dict[str | None, set[asyncio.Future[None]]], user: str | None
    ) -> None:
        self._waiting = waiting
        self._user = user
        self._future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __enter__(self) -> asyncio.Future[None]:
        self._waiting.setdefault(self._user, set()).add(self._future)
        return self._future

    def __exit__(self, *_: object) -> None:
        others = self._waiting[self._user]
        others.discard(self._future)
        if not others:
            del self._waiting[self._user]


def not_begun(provider: str, refused: Refused) -> list[NormalizedStreamEvent]:
    """Returns the events of a turn that is refused before it is handed over to the agent."""
    who = (provider, "", None, None)
    failed = ev.TurnFailed(*who, str(refused.code), refused.message)
    return [ev.TurnStarted(*who), failed, ev.ResultSummary(*who, "error", True)]
