"""What people chose for the program while it runs: its model, its permission mode, how much it thinks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from turnwire.agents.claude.program import Program

__all__ = ["Chosen"]


class Chosen:
    """As it is now, by what the program says. A choice that it refuses is told, and changes nothing.

    `refused` gets what is to be told; `check_open` raises AgentGone when the session is over.
    """

    def __init__(
        self,
        program: Program,
        *,
        model: str | None,
        permission_mode: str | None,
        check_open: Callable[[], None],
        refused: Callable[[dict[str, Any]], None],
    ) -> None:
        self._program = program
        self._check_open = check_open
        self._refused = refused
        self._now: dict[str, Any] = {
            "model": model,
            "permission_mode": permission_mode or "default",
            "max_thinking_tokens": None,
        }

    async def model(self, wanted: str) -> None:
        """Another model."""
        await self._choose("model", wanted, self._program.set_model)

    async def permission_mode(self, wanted: str) -> None:
        """Another permission mode."""
        await self._choose("permission_mode", wanted, self._program.set_permission_mode)

    async def max_thinking_tokens(self, wanted: int | None) -> None:
        """More or less reasoning."""
        await self._choose("max_thinking_tokens", wanted, self._program.set_max_thinking_tokens)

    async def _choose(self, what: str, wanted: Any, tell: Callable[[Any], Awaitable[None]]) -> None:
        try:
            await tell(wanted)
        except Exception as error:  # the SDK raises bare ones
            self._check_open()  # one that is gone has refused nothing
            about = {"wanted": {what: wanted}, "stays": {what: self._now[what]}}
            self._refused({"message": str(error), **about})
        else:
            self._now[what] = wanted

    def says(self, model: str | None, permission_mode: str) -> None:
        """What the program says that it works with; none: nothing of the model."""
        self._now["model"] = model or self._now["model"]
        self._now["permission_mode"] = permission_mode
