"""Requests to people over the control protocol: permissions, and questions of MCP servers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from turnwire.agents.claude.questions.elicitations import DISMISSED, Elicitations
from turnwire.agents.claude.questions.permissions import Permissions
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.conversation.state import Reply
from turnwire.dialects import claude
from turnwire.dialects.claude import control

__all__ = ["ControlRequests"]


class ControlRequests:
    """The open requests of the program.

    `modes` are the permission modes that a decision may switch to. `answer` answers the program.
    `tell` adds the answer to an MCP server to the log.
    """

    def __init__(
        self,
        modes: Collection[str],
        *,
        answer: Callable[[str, Any], None],
        tell: Callable[[ToolResultBlock], None],
    ) -> None:
        self._permissions = Permissions(modes)
        self._elicitations = Elicitations()
        self._answer = answer
        self._tell = tell

    def hear(self, message: claude.ClaudeMessage) -> None:
        """Remembers a request until it is answered or withdrawn. Dismisses a dialog."""
        self._permissions.hear(message)
        self._elicitations.hear(message)
        match message:
            case control.ControlRequest(request_id, control.RequestUserDialog()):
                self._answer(request_id, DISMISSED)
            case _:
                pass

    def deliver(self, reply: Reply) -> bool:
        """Answers the program. Returns False if the question is one of Claude's tool calls."""
        if reply.kind == "permission":
            decision = self._permissions.decide(reply)
            if decision is not None:
                self._answer(reply.request_id, decision)
            return True
        answer = self._elicitations.answer(reply)
        if answer is None:
            return False
        self._answer(reply.request_id, answer[0])
        if answer[1] is not None:
            self._tell(answer[1])
        return True
