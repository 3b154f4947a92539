"""What MCP servers ask people through the program, until somebody has answered."""

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

# Nobody sees a dialog here. The program asks only hosts that said they can show it, and none did: but
# if one comes all the same, its turn must not wait for ever.
DISMISSED: Any = msgspec.to_builtins(DialogAnswer("cancelled"))


class Elicitations:
    """Several may be open at once, as calls of tools are."""

    def __init__(self) -> None:
        self._open: dict[str, control.Elicitation] = {}

    def hear(self, message: claude.ClaudeMessage) -> None:
        """One is asked, or taken back."""
        match message:
            case control.ControlRequest(request_id, control.Elicitation() as asked):
                self._open[request_id] = asked
            case control.ControlCancelRequest(request_id):
                self._open.pop(request_id, None)
            case _:
                pass

    def answer(self, reply: Reply) -> tuple[Any, ToolResultBlock | None] | None:
        """For the program, and for the log; none: it is no answer to any of these."""
        asked = self._open.pop(reply.request_id, None)
        if asked is None:
            return None
        if reply.decision == "deny":  # it was cancelled: whoever did that tells the log
            return msgspec.to_builtins(ElicitationAnswer("cancel")), None
        answer = answer_of(asked, reply.answer)
        told = as_text(reply.answer) if answer.action == "accept" else "Declined."
        return (
            msgspec.to_builtins(answer),
            ToolResultBlock(reply.request_id, told, False, "completed"),
        )
