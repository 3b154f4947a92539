"""Caches the agents' answers that are the same for several conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Struct

from turnwire.core.controls import AgentControl, ListCommands, ListModels, name_of
from turnwire.engine.actor.commands import Answer
from turnwire.ports import ConversationRow

__all__ = ["SharedAnswers", "is_shared"]

_CACHE_SECONDS = 30.0
_MOST_CACHED = 1_000


class _Cached(Struct):
    task: asyncio.Task[Answer]  # running or done
    until: float  # end of its validity, by the event loop's clock


def is_shared(control: AgentControl) -> bool:
    """Returns whether conversations of one user, agent, directory and options share the answer."""
    return isinstance(control, ListModels | ListCommands)


class SharedAnswers:
    """Answers by user, agent, directory and options. A cached answer needs no open agent."""

    def __init__(self) -> None:
        self._cached: dict[tuple[str | None, ...], _Cached] = {}

    async def get(
        self, row: ConversationRow, control: AgentControl, ask: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Returns the cached answer, or calls `ask` once for all callers. Caches no refusal."""
        options = msgspec.json.encode(row.options, order="sorted").decode()
        key = (name_of(control), row.user, row.agent, row.cwd, options)
        now = asyncio.get_running_loop().time()
        cached = self._cached.get(key)
        if cached is None or cached.until <= now:
            if len(self._cached) >= _MOST_CACHED:
                self._forget(now)
            cached = _Cached(asyncio.ensure_future(_answer(ask)), now + _CACHE_SECONDS)
            self._cached[key] = cached
        try:
            # A caller that is cancelled does not cancel the call for the others.
            return await asyncio.shield(cached.task)
        except Exception:
            if self._cached.get(key) is cached:
                del self._cached[key]
            raise

    def _forget(self, now: float) -> None:
        self._cached = {key: each for key, each in self._cached.items() if each.until > now}
        while len(self._cached) >= _MOST_CACHED:
            del self._cached[next(iter(self._cached))]


async def _answer(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    return await ask()
