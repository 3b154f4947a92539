"""The conversation of an agent, as its runner knows it."""

from __future__ import annotations

from typing import Protocol

from turnwire.core.controls import ControlResult
from turnwire.core.conversation.inputs import EndedProcess
from turnwire.core.error_codes import Refused
from turnwire.core.events import NormalizedStreamEvent
from turnwire.engine.allowance import Allowance
from turnwire.ports import SessionStart

__all__ = ["AgentConversation"]


class AgentConversation(Protocol):
    """Says how the agent is opened and what it may spend. Is told what comes of its commands."""

    def session_start(self) -> SessionStart:
        """Returns how a session is opened now."""

    async def allowance(self) -> Allowance:
        """Returns what an agent may spend that has no turn yet."""

    async def reserve(self, before: Allowance | None) -> Allowance:
        """Reserves what the next turn may spend. `before` is what the open session was allowed."""

    def heard(self, batch: list[NormalizedStreamEvent]) -> None:
        """Takes a batch of events."""

    async def handled(self) -> None:
        """Waits until all that was heard is committed."""

    def answered(self, control_id: str, came: ControlResult | Refused) -> None:
        """Takes what came of a control: exactly once for each."""

    def agent_ended(
        self, message: str | None, *, forced: bool, processes: list[EndedProcess]
    ) -> None:
        """Takes the end of the agent, or that it could not be opened. Then calls `begin_again`."""

    def rested(self) -> None:
        """Takes that no agent is open, and no command waits."""
