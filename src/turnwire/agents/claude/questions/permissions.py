"""Open permission requests of the program, until a person decides."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from turnwire.core.conversation.state import Reply
from turnwire.dialects import claude
from turnwire.dialects.claude import control

__all__ = ["Permissions"]


class Permissions:
    """The open permission requests. Several can be open at once, because sub-agents ask as well.

    `modes` are the permission modes that a decision may switch to.
    """

    def __init__(self, modes: Collection[str]) -> None:
        self._modes = modes
        self._shown: dict[str, Any] = {}  # by request: the input that a person sees

    def hear(self, message: claude.ClaudeMessage) -> None:
        """Adds a new request, or removes a withdrawn one."""
        match message:
            case control.ControlRequest(request_id, control.CanUseTool(input=shown)):
                self._shown[request_id] = shown
            case control.ControlCancelRequest(request_id):
                self._shown.pop(request_id, None)
            case _:
                pass

    def decide(self, reply: Reply) -> dict[str, Any] | None:
        """Returns the answer for the program, or None if the request was withdrawn."""
        if reply.request_id not in self._shown:
            return None
        shown = self._shown.pop(reply.request_id)
        if reply.decision != "allow":
            return {"behavior": "deny", "message": reply.reason or "The person said no."}
        changed = shown if reply.updated_input is None else reply.updated_input
        allowed: dict[str, Any] = {"behavior": "allow", "updatedInput": changed}
        remember = [each for each in reply.remember if self._may_be(each)]
        return {**allowed, "updatedPermissions": remember} if remember else allowed

    def _may_be(self, update: Any) -> bool:
        """Whether a permission update keeps the mode, or sets one that any user may choose."""
        is_mode = isinstance(update, dict) and update.get("type") == "setMode"
        return not is_mode or update.get("mode") in self._modes
