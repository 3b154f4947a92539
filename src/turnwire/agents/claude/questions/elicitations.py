"""Open questions of MCP servers, which the program passes on to people."""

from __future__ import annotations

from typing import Any

import msgspec

from turnwire.core.answers import as_text
from turnwire.core.blocks import ToolResultBlock
from turnwire.core.conversation.state import Reply
from turnwire.dialects import claude
from turnwire.dialects.claude import control
from turnwire.dialects.claude.answers import DialogAnswer, ElicitationAnswer
from turnwire.dialects.claude.elicitation import answer_of

__all__ = ["DISMISSED", "Elicitations"]

# Turnwire cannot show dialogs and does not announce them, so the program should not send any. If a
# dialog comes anyway, it is dismissed: otherwise its turn would wait for ever.
DISMISSED: Any = msgspec.to_builtins(DialogAnswer("cancelled"))


class Elicitations:
    """The open elicitations. Several can be open at once, like tool calls."""

    def __init__(self) -> None:
        self._open: dict[str, control.Elicitation] = {}

    def hear(self, message: claude.ClaudeMessage) -> None:
        """Adds a new elicitation, or removes a withdrawn one."""
        match message:
            case control.ControlRequest(request_id, control.Elicitation() as asked):
                self._open[request_id] = asked
            case control.ControlCancelRequest(request_id):
                self._open.pop(request_id, None)
            case _:
                pass

    def answer(self, reply: Reply) -> tuple[Any, ToolResultBlock | None] | None:
        """Returns the answer for the program and for the log, or None if no elicitation matches."""
        asked = self._open.pop(reply.request_id, None)
        if asked is None:
            return None
        if reply.decision == "deny":  # cancelled: the engine writes the log
            return msgspec.to_builtins(ElicitationAnswer("cancel")), None
        answer = answer_of(asked, reply.answer)
        told = as_text(reply.answer) if answer.action == "accept" else "Declined."
        return (
            msgspec.to_builtins(answer),
            ToolResultBlock(reply.request_id, told, False, "completed"),
        )
