"""How many agents of each user run at once. An idle one makes room for one that is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from turnwire.ports import AgentGone

__all__ = ["Slot", "Slots"]

_PATIENCE = 30.0  # seconds that an agent has to end that makes room for another


class Slots:
    """The agents of all conversations of an engine. The owner of the data may have any number."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most  # of one user; none: any number
        self._taken: dict[str | None, list[Slot]] = {}  # by user, the oldest first
        self._waiting: set[asyncio.Future[None]] = set()

    async def take(self, slot: Slot) -> None:
        """A place for one more agent. Raises AgentGone if its user has too many that work."""
        if slot.user is not None and self._most is not None:
            while len(self._taken.get(slot.user, ())) >= self._most:
                if not await self._ends_one(self._taken[slot.user]):
                    raise AgentGone(
                        f"{self._most} agents of this user are at work, and no more may be. Wait"
                        " until one of their turns has ended, or have the limit raised"
                        " (max_agents_per_user)."
                    )
        self._taken.setdefault(slot.user, []).append(slot)

    async def make_room(self, agent: str) -> bool:
        """Ends an idle agent of this name, of the user who has most; false: there is none."""
        for taken in sorted(self._taken.values(), key=len, reverse=True):
            if await self._ends_one([slot for slot in taken if slot.agent == agent]):
                return True
        return False

    def give_back(self, slot: Slot) -> None:
        """Its agent has ended."""
        taken = self._taken.get(slot.user, [])
        if slot in taken:
            taken.remove(slot)
            if not taken:
                del self._taken[slot.user]
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def _ends_one(self, slots: list[Slot]) -> bool:
        """Whether one of these has ended, or is about to: it was idle."""
        if not any(slot.leave() for slot in slots):
            return False
        given_back = asyncio.get_running_loop().create_future()
        self._waiting.add(given_back)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(given_back, _PATIENCE)
                return True
        finally:
            self._waiting.discard(given_back)
        return False


class Slot:
    """One conversation's place among the agents that run."""

    def __init__(
        self, slots: Slots, user: str | None, agent: str, leave: Callable[[], bool]
    ) -> None:
        """`leave` ends the agent if it is idle, and says whether it ends."""
        self.user = user
        self.agent = agent
        self.leave = leave
        self._slots = slots
        self._is_taken = False

    async def take(self) -> None:
        """Before an agent is opened. Raises AgentGone."""
        await self._slots.take(self)
        self._is_taken = True

    async def make_room(self) -> bool:
        """See `Slots.make_room`."""
        return await self._slots.make_room(self.agent)

    def give_back(self) -> None:
        """The agent has ended, or could not be opened."""
        if self._is_taken:
            self._is_taken = False
            self._slots.give_back(self)
