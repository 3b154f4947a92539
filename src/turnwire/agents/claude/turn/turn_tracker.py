"""The turn that a program works on: whether there is one, and why it fails."""

from __future__ import annotations

import asyncio

from turnwire.agents.claude.turn.failures import explain, is_hopeless
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock, ToolUseBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects import claude
from turnwire.dialects.claude import messages, system

__all__ = ["TurnWatch"]


class TurnWatch:
    """Hears every message before it is translated, and follows the events that come of it."""

    def __init__(self) -> None:
        self.runs = False
        self.idle = asyncio.Event()  # set when a turn has ended
        self.calls: set[str] = set()  # of its own, without a result
        # Of sub-agents, without a result: under which call they run, and who they are.
        self.voices: dict[str, tuple[str, str | None]] = {}
        self.prompt: str | None = None  # the uuid of one that the program has not begun with
        self.is_hopeless = False  # the API will not answer, however often it is asked
        self._cause: str | None = None  # the word of the API's last error
        self._status: int | None = None  # and what HTTP says

    @property
    def is_busy(self) -> bool:
        """Whether there is something to stop."""
        return self.runs or self.prompt is not None

    def hear(self, message: claude.ClaudeMessage, session_id: str) -> list[NormalizedStreamEvent]:
        """What only this message says; whatever follows from it at once is returned."""
        match message:
            case messages.AssistantMessage(error=str(error), parent_tool_use_id=None):
                self._cause = error
            case messages.ResultMessage(is_error=True, api_error_status=int(status)):
                self._status = status  # the end of a turn that we stopped has none
            case system.ApiRetry(error=error, error_status=status) if is_hopeless(error):
                self.is_hopeless, self._cause, self._status = True, error, status
            case messages.CommandLifecycle(command_uuid=str(name), state=state):
                if name == self.prompt:
                    return self._dispatched(state, session_id)
            case _:
                pass
        return []

    def _dispatched(self, state: str | None, session_id: str) -> list[NormalizedStreamEvent]:
        """The program has begun with the prompt, or says that it never will."""
        if state == "queued":
            return []
        self.prompt = None
        match state:
            case "completed":  # it knows this prompt from a process before this one
                said = "Claude had begun with this before, and was interrupted. Say `go on`."
                return self.failed("already_begun", said, session_id)
            case "cancelled":
                stopped = ev.TurnCompleted("claude", session_id, None, None, None, True)
                return _whole_turn(stopped, "interrupted")
            case _:
                return []

    def failed(self, code: str, message: str, session_id: str) -> list[NormalizedStreamEvent]:
        """A turn that ends before it has begun."""
        failed = ev.TurnFailed("claude", session_id, None, None, code, message)
        return _whole_turn(explain(failed, None), "error")

    def follow(self, event: NormalizedStreamEvent) -> NormalizedStreamEvent:
        """The same event; a failure says more than the program does."""
        match event:
            case ev.TurnStarted():
                self.runs = True
                self.idle.clear()
            case ev.AssistantMessage(content=[ToolUseBlock() as call], parent_tool_use_id=None):
                self.calls.add(call.id)
            case ev.AssistantMessage(
                content=[ToolUseBlock() as call], parent_tool_use_id=str(parent), agent_id=agent_id
            ):
                self.voices[call.id] = (parent, agent_id)
            case ev.UserMessage(content=[ToolResultBlock() as result]):
                self.calls.discard(result.tool_use_id)
                self.voices.pop(result.tool_use_id, None)
            case ev.TurnCompleted(interrupted=True, origin=origin) if self.is_hopeless:
                said = f"The API refuses Claude: {self._cause} (HTTP {self._status})"
                whose = ("claude", event.session_id, None, None)
                event = ev.TurnFailed(*whose, "api_error", said, origin)
                event = explain(event, self._cause, self._status)
                self._ended()
            case ev.TurnFailed():
                event = explain(event, self._cause, self._status)
                self._ended()
            case ev.TurnCompleted():
                self._ended()
            case _:
                pass
        return event

    def _ended(self) -> None:
        self.runs = self.is_hopeless = False
        self._cause = self._status = None
        self.calls.clear()
        self.idle.set()


def _whole_turn(end: ev.TurnCompleted | ev.TurnFailed, subtype: str) -> list[NormalizedStreamEvent]:
    who = ("claude", end.session_id, None, None)
    failed = isinstance(end, ev.TurnFailed)
    return [ev.TurnStarted(*who), end, ev.ResultSummary(*who, subtype, failed)]
