"""Checks tool calls: each has one result, and sub-agents belong to a call."""

from __future__ import annotations

from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.validator.connection import Say
from turnwire.dialects.v2.validator.requests import RequestCheck

__all__ = ["ToolCheck"]


class ToolCheck:
    """Checks the tool calls of one log."""

    def __init__(self, say: Say, requests: RequestCheck) -> None:
        self._say = say
        self._requests = requests
        self.whole = True  # the log is known from its start
        self.turn_of: dict[str, int | None] = {}  # call -> the turn that made it
        self._answered: set[str] = set()
        self._own: dict[int | None, dict[str, None]] = {}  # open calls of the agent, by turn

    def called(
        self, frame: f.AssistantToolCall | f.AssistantRequestInput, tool_use_id: str
    ) -> None:
        """Notes a tool call or a question."""
        self.turn_of[tool_use_id] = frame.turn_id
        if frame.payload.parent_tool_use_id is None:
            self._own.setdefault(frame.turn_id, {})[tool_use_id] = None

    def result(self, tool_use_id: str) -> None:
        """Checks assistant.tool_result."""
        if self._requests.waits(tool_use_id):
            self._say("result_while_waiting", tool_use_id)
        if tool_use_id in self._answered:
            self._say("result_twice", tool_use_id)
        elif tool_use_id in self.turn_of:
            self._own.get(self.turn_of[tool_use_id], {}).pop(tool_use_id, None)
        elif self.whole:
            self._say("result_without_call", tool_use_id)
        self._answered.add(tool_use_id)

    def progress(self, tool_use_id: str) -> None:
        """Checks assistant.tool_progress."""
        if not self._may_run(tool_use_id):
            self._say("progress_out_of_place", tool_use_id)

    def permission(self, tool_use_id: str) -> None:
        """Checks assistant.permission_request."""
        if not self._may_run(tool_use_id):
            self._say("permission_without_call", tool_use_id)

    def question(self, frame: f.AssistantRequestInput, tool_use_id: str) -> None:
        """Checks the assistant.request_input of a call that was sent before."""
        if not self._may_run(tool_use_id):
            self._say("question_without_call", tool_use_id)
        if tool_use_id not in self.turn_of:
            self.called(frame, tool_use_id)

    def _may_run(self, tool_use_id: str) -> bool:
        known = tool_use_id in self.turn_of or not self.whole
        return known and tool_use_id not in self._answered

    def parent(self, tool_use_id: str | None) -> None:
        """Checks that the parent call of a sub-agent exists."""
        if tool_use_id is not None and self.whole and tool_use_id not in self.turn_of:
            self._say("unknown_parent", tool_use_id)

    def turn_ended(self, turn_id: int) -> None:
        """Checks that the agent's own calls have results, unless their requests are open."""
        for tool_use_id in self._own.pop(turn_id, {}):
            if not self._requests.waits(tool_use_id):
                self._say("result_missing", f"{tool_use_id} when turn {turn_id} ended")
