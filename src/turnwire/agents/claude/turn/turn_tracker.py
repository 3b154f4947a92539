"""Tracks the running turn of a program: its state, its open tool calls, and why it fails."""

from __future__ import annotations

import asyncio

from turnwire.agents.claude.turn.failures import explain, is_hopeless
from turnwire.core import events as ev
from turnwire.core.blocks import ToolResultBlock, ToolUseBlock
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects import claude
from turnwire.dialects.claude import messages, system

__all__ = ["TurnTracker"]


class TurnTracker:
    """Receives every message before it is converted, and then the events made from it."""

    def __init__(self) -> None:
        self.runs = False
        self.idle = asyncio.Event()  # set when a turn has ended
        self.begun = asyncio.Event()  # set while a turn runs
        self.calls: set[str] = set()  # Claude's own tool calls without a result
        # Tool calls of sub-agents without a result: the parent call and the agent id.
        self.voices: dict[str, tuple[str, str | None]] = {}
        self.prompt: str | None = None  # the uuid of a prompt that the program has not started yet
        self.is_hopeless = False  # a retry cannot fix the API's error
        self._cause: str | None = None  # the code of the API's last error
        self._status: int | None = None  # the HTTP status of that error

    @property
    def is_busy(self) -> bool:
        """Whether a turn runs or a prompt waits for its start."""
        return self.runs or self.prompt is not None

    def hear(self, message: claude.ClaudeMessage, session_id: str) -> list[NormalizedStreamEvent]:
        """Updates the state from a message. Returns events that follow from it immediately."""
        match message:
            case messages.AssistantMessage(error=str(error), parent_tool_use_id=None):
                self._cause = error
            case messages.ResultMessage(is_error=True, api_error_status=int(status)):
                self._status = status  # an interrupted turn has no status
            case system.ApiRetry(error=error, error_status=status) if is_hopeless(error):
                self.is_hopeless, self._cause, self._status = True, error, status
            case messages.CommandLifecycle(command_uuid=str(name), state=state):
                if name == self.prompt:
                    return self._dispatched(state, session_id)
            case _:
                pass
        return []

    def _dispatched(self, state: str | None, session_id: str) -> list[NormalizedStreamEvent]:
        """Handles the program's report that it started the prompt, or that it never will."""
        if state == "queued":
            return []
        self.prompt = None
        match state:
            case "completed":  # an earlier process has started this prompt
                said = "Claude had started this before and was interrupted. Say `go on`."
                return self.failed("already_begun", said, session_id)
            case "cancelled":
                stopped = ev.TurnCompleted("claude", session_id, None, None, None, True)
                return _whole_turn(stopped, "interrupted")
            case _:
                return []

    def failed(self, code: str, message: str, session_id: str) -> list[NormalizedStreamEvent]:
        """Returns the events of a turn that fails before it starts."""
        failed = ev.TurnFailed("claude", session_id, None, None, code, message)
        return _whole_turn(explain(failed, None), "error")

    def follow(self, event: NormalizedStreamEvent) -> NormalizedStreamEvent:
        """Updates the state from an event. Returns the event; a failure gets a code and advice."""
        match event:
            case ev.TurnStarted():
                self.runs = True
                self.idle.clear()
                self.begun.set()
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
        self.begun.clear()
        self.idle.set()


def _whole_turn(end: ev.TurnCompleted | ev.TurnFailed, subtype: str) -> list[NormalizedStreamEvent]:
    who = ("claude", end.session_id, None, None)
    failed = isinstance(end, ev.TurnFailed)
    return [ev.TurnStarted(*who), end, ev.ResultSummary(*who, subtype, failed)]
