"""What the program asks people over the control protocol: permissions, and questions of MCP servers."""

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
    """The open ones. `modes` are those that a decision may go on in, `answer` answers the program, and
    `tell` tells the log what an MCP server was answered.
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
        """Remembers a request until it is answered or taken back. A dialog is dismissed."""
        self._permissions.hear(message)
        self._elicitations.hear(message)
        match message:
            case control.ControlRequest(request_id, control.RequestUserDialog()):
                self._answer(request_id, DISMISSED)
            case _:
                pass

    def deliver(self, reply: Reply) -> bool:
        """Answers the program. Returns False if it was Claude that asked, and not the program."""
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
