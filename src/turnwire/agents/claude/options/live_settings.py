"""Settings that people change while the program runs: model, permission mode, thinking limit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from turnwire.agents.claude.process.claude_process import ClaudeProcess
from turnwire.agents.claude.process.session_opening import Opening

__all__ = ["Chosen"]


class Chosen:
    """The current settings of the program. A refused choice is reported and has no effect.

    `refused` gets what was wanted, what stays, and why; `check_open` raises AgentGone when the
    session is over.
    """

    def __init__(
        self,
        process: ClaudeProcess,
        opening: Opening,
        *,
        check_open: Callable[[], None],
        refused: Callable[[dict[str, Any], dict[str, Any], str], None],
    ) -> None:
        self._process = process
        self._most_thinking = opening.most_thinking
        self._check_open = check_open
        self._refused = refused
        self._now: dict[str, Any] = {
            "model": opening.model,
            "permission_mode": opening.permission_mode or "default",
            "max_thinking_tokens": None,
        }

    async def model(self, wanted: str, meant: str) -> None:
        """Changes the model; `meant` is the program's name of it."""
        await self._choose("model", wanted, lambda _: self._process.set_model(meant))

    async def permission_mode(self, wanted: str) -> None:
        """Changes the permission mode."""
        await self._choose("permission_mode", wanted, self._process.set_permission_mode)

    async def max_thinking_tokens(self, wanted: int | None) -> None:
        """Changes the limit of thinking tokens, up to the limit of the agent; None removes it."""
        most = self._most_thinking
        if most is not None and wanted is not None and wanted > most:
            self._tell("max_thinking_tokens", wanted, f"The limit of this agent is {most} tokens.")
            return
        await self._choose("max_thinking_tokens", wanted, self._process.set_max_thinking_tokens)

    async def _choose(self, what: str, wanted: Any, tell: Callable[[Any], Awaitable[None]]) -> None:
        try:
            await tell(wanted)
        except Exception as error:  # the SDK raises plain Exception
            self._check_open()  # a program that has ended did not refuse
            self._tell(what, wanted, str(error))
        else:
            self._now[what] = wanted

    def _tell(self, what: str, wanted: Any, why: str) -> None:
        """Reports a refused choice, with the value that stays."""
        self._refused({what: wanted}, {what: self._now[what]}, why)

    def says(self, model: str | None, permission_mode: str) -> None:
        """Notes the settings that the program reports; `model` is None if it reports none."""
        self._now["model"] = model or self._now["model"]
        self._now["permission_mode"] = permission_mode
