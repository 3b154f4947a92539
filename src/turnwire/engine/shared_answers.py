"""Answers of agents that are the same for several conversations: asked once, and kept for a while."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from turnwire.core.controls import AgentControl, ListCommands, ListModels, name_of
from turnwire.engine.asks import Answer
from turnwire.ports import ConversationRow

__all__ = ["SharedAnswers", "is_shared"]

_KEPT_SECONDS = 30.0
_MOST = 1_000


class _Asked(Struct):
    task: asyncio.Task[Answer]
    until: float  # as long as it may be told to others


def is_shared(control: AgentControl) -> bool:
    """Whether every conversation of the same kind gets the same answer."""
    return isinstance(control, ListModels | ListCommands)


class SharedAnswers:
    """By user, agent, directory and options. A conversation that asks need not open its agent."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str | None, ...], _Asked] = {}

    async def get(
        self, row: ConversationRow, control: AgentControl, ask: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Returns the answer to the last such question. A refusal is not kept."""
        options = msgspec.json.encode(row.options, order="sorted").decode()
        key = (name_of(control), row.user, row.agent, row.cwd, options)
        now = asyncio.get_running_loop().time()
        asked = self._asked.get(key)
        if asked is None or asked.until <= now:
            if len(self._asked) >= _MOST:
                self._forget(now)
            asked = _Asked(asyncio.ensure_future(_answer(ask)), now + _KEPT_SECONDS)
            self._asked[key] = asked
        try:
            return await asyncio.shield(
                asked.task
            )  # a client that leaves does not cancel it for the others
        except Exception:
            if self._asked.get(key) is asked:
                del self._asked[key]
            raise

    def _forget(self, now: float) -> None:
        self._asked = {key: each for key, each in self._asked.items() if each.until > now}
        while len(self._asked) >= _MOST:
            del self._asked[next(iter(self._asked))]


async def _answer(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    return await ask()
