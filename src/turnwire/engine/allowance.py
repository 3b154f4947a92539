"""What an agent may spend in its next turn, and what is reserved for it of its user's budget."""

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

__all__ = ["NO_LIMIT", "Allowance", "Purses", "not_begun"]

_NEAR = 1e-9  # dollars: sums of fractions are not exact
_PATIENCE = 60.0  # seconds that a turn waits until another one gives back what was reserved for it
_LOOK = 1.0  # seconds until it looks again: the other one may run in another process


class Allowance(Struct, frozen=True):
    """As the log has it at a moment."""

    left: float | None = None  # dollars; none: whatever it takes
    ceiling: float | None = None  # what the conversation will have cost in all when that is spent
    refused: Refused | None = None  # why nothing may be spent
    is_busy: bool = False  # work goes on in the background

    def is_another_than(self, before: Allowance) -> bool:
        """Whether somebody else has spent some of what was allowed before, or there is more now.

        There is more in a new period. While work goes on in the background it does not count:
        that would end with its agent.
        """
        if self.is_busy or self.ceiling is before.ceiling is None:
            return False
        if self.ceiling is None or before.ceiling is None:
            return True
        return abs(self.ceiling - before.ceiling) > _NEAR


NO_LIMIT = Allowance()


class Purses:
    """The budgets of all users: what is spent is in the store's ledger, what is reserved beside it."""

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
        """What a user may spend and has spent; none: there is no limit."""
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
        """What a turn may spend of its user's budget, reserved for it; none: there is no limit.

        `choose` says how much, given the limit, what is spent and what is held by other turns. Where
        nothing is left but held by others, this waits for one of them to end. Raises Refused.
        """
        limit = self._limit
        if limit is None:
            return None
        loop = asyncio.get_running_loop()
        until = loop.time() + _PATIENCE
        while True:
            since, resets_at = self._now()
            with _Place(self._waiting, user) as settled:  # from before it looks
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
                    await asyncio.wait_for(settled, _LOOK)

    def settled(self, user: str | None) -> None:
        """A turn of this user has given back what was reserved for it: others may have it."""
        for waiting in self._waiting.get(user, ()):
            if not waiting.done():
                waiting.set_result(None)

    def _now(self) -> tuple[str | None, str | None]:
        return period_of(self._period, self._clock.now())


class _Place:
    """A place among those who wait for a user's money."""

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
    """A turn that ends before the agent hears of it."""
    who = (provider, "", None, None)
    failed = ev.TurnFailed(*who, str(refused.code), refused.message)
    return [ev.TurnStarted(*who), failed, ev.ResultSummary(*who, "error", True)]
