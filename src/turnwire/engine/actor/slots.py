"""Limits the running agents of each user. Closes an idle agent if another one needs its slot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from turnwire.ports import AgentGone

__all__ = ["Slot", "Slots"]

_CLOSE_TIMEOUT = 30.0  # timeout for the end of an idle agent


class Slots:
    """Counts the running agents of one engine, by user. The owner of the data has no limit."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most  # of one user; None: no limit
        self._taken: dict[str | None, list[Slot]] = {}  # by user, the oldest first
        self._waiting: set[asyncio.Future[None]] = set()

    async def take(self, slot: Slot) -> None:
        """Counts one more agent. Raises AgentGone if too many agents of its user are busy."""
        if slot.user is not None and self._most is not None:
            while len(self._taken.get(slot.user, ())) >= self._most:
                if not await self._close_idle(self._taken[slot.user]):
                    raise AgentGone(
                        f"{self._most} agents of this user are at work, which is the limit. Wait"
                        " until one of their turns has ended, or have the limit raised"
                        " (max_agents_per_user)."
                    )
        self._taken.setdefault(slot.user, []).append(slot)

    async def make_room(self, agent: str) -> bool:
        """Closes an idle agent of this name, first of users with many agents.

        Returns False if none is idle.
        """
        for taken in sorted(self._taken.values(), key=len, reverse=True):
            if await self._close_idle([slot for slot in taken if slot.agent == agent]):
                return True
        return False

    def release(self, slot: Slot) -> None:
        """Releases the slot of an agent that has ended."""
        taken = self._taken.get(slot.user, [])
        if slot in taken:
            taken.remove(slot)
            if not taken:
                del self._taken[slot.user]
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    async def _close_idle(self, slots: list[Slot]) -> bool:
        """Closes one idle agent and waits for its end. Returns whether one has ended."""
        if not any(slot.close_if_idle() for slot in slots):
            return False
        released = asyncio.get_running_loop().create_future()
        self._waiting.add(released)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(released, _CLOSE_TIMEOUT)
                return True
        finally:
            self._waiting.discard(released)
        return False


class Slot:
    """The agent of one conversation, as `Slots` counts it."""

    def __init__(
        self, slots: Slots, user: str | None, agent: str, close_if_idle: Callable[[], bool]
    ) -> None:
        """`close_if_idle` closes the agent if it is idle, and returns whether it ends."""
        self.user = user
        self.agent = agent
        self.close_if_idle = close_if_idle
        self._slots = slots
        self._is_taken = False

    async def take(self) -> None:
        """Takes the slot before the agent is opened. Raises AgentGone if the limit is reached."""
        await self._slots.take(self)
        self._is_taken = True

    async def make_room(self) -> bool:
        """Closes an idle agent of the same name. Returns False if none is idle."""
        return await self._slots.make_room(self.agent)

    def release(self) -> None:
        """Releases the slot: the agent has ended, or could not be opened."""
        if self._is_taken:
            self._is_taken = False
            self._slots.release(self)
