"""The drain of a process that is about to stop: its conversations are released one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from turnwire.background import BackgroundTasks
from turnwire.engine.actor.actor import Actor

__all__ = ["Drain"]


class Drain:
    """Releases idle conversations at once, and the others when their running turn has ended.

    A turn that begins during the drain is not handed to the agent: another process does that.
    """

    def __init__(
        self,
        alive: Mapping[str, Actor],
        let_go: Callable[[Actor], Awaitable[None]],
        background: BackgroundTasks,
    ) -> None:
        """`alive`: the actors of this process. `let_go` ends an actor and releases its claim."""
        self._alive = alive
        self._let_go = let_go
        self._background = background
        self._leaving: set[Actor] = set()
        self._is_over = False
        self._changed = asyncio.Event()
        for actor in list(alive.values()):
            actor.hold_turns()
            self.look(actor)

    async def run(self, grace: float) -> None:
        """Returns when no conversation is left, `grace` seconds have passed, or `end` was called."""
        try:
            async with asyncio.timeout(grace):
                await self._until(lambda: not self._alive)
        except TimeoutError:
            pass
        self.end()
        # What is being released is not interrupted: its agent is ending already.
        while self._leaving:
            self._changed.clear()
            await self._changed.wait()

    async def _until(self, is_true: Callable[[], bool]) -> None:
        while not (is_true() or self._is_over):
            self._changed.clear()
            await self._changed.wait()

    def end(self) -> None:
        """Has `run` return soon."""
        self._is_over = True
        self._changed.set()

    def is_leaving(self, actor: Actor) -> bool:
        """Returns whether a conversation is being released."""
        return actor in self._leaving

    def look(self, actor: Actor) -> None:
        """Releases a conversation if its turn has ended. Called after each of its steps."""
        self._changed.set()
        if self._is_over or actor.dead or actor in self._leaving:
            return
        if actor.can_move or (actor.has_held_turn and not actor.state.background):
            self._leaving.add(actor)
            self._background.run(self._release(actor))

    async def _release(self, actor: Actor) -> None:
        try:
            await self._let_go(actor)
        finally:
            self._leaving.discard(actor)
            self._changed.set()
