"""Decides which lines of the program the SDK handles, and builds events of Turnwire itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw

from turnwire.core import events as ev
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects import claude
from turnwire.dialects.claude import control
from turnwire.errors import BadLine

__all__ = ["is_for_sdk", "told_by_us", "unreadable"]


def is_for_sdk(message: claude.ClaudeMessage, has: Callable[[str], bool]) -> bool:
    """Whether the SDK handles a message.

    The SDK handles the control protocol, except requests to people and MCP servers of this process.
    """
    match message:
        case control.ControlResponse() | control.ControlCancelRequest():
            return True
        case control.ControlRequest(
            request=control.CanUseTool() | control.Elicitation() | control.RequestUserDialog()
        ):
            return False
        case control.ControlRequest(request=control.McpMessage(server_name=server)):
            return not has(server)
        case control.ControlRequest():
            return True
        case _:
            return False


def unreadable(session_id: str, raw: bytes, bad: BadLine) -> NormalizedStreamEvent:
    """Returns an event with the unchanged line, for a line that is not a valid message."""
    data = Raw(msgspec.json.encode(raw.decode(errors="replace")))
    return ev.UnknownEvent("claude", session_id, None, None, "unreadable", data, str(bad))


def told_by_us(
    session_id: str,
    subtype: str,
    told: dict[str, Any],
    kind: type[ev.SystemEvent] = ev.SystemEvent,
    **typed: Any,
) -> NormalizedStreamEvent:
    """Returns an event of Turnwire itself, in the form of a system message of the program.

    `kind` is the type of the event, and `typed` are the fields that only this type has.
    """
    raw = Raw(msgspec.json.encode({"type": "system", "subtype": subtype, **told}))
    ephemeral = kind is ev.TitleProposed  # the log keeps the title, not the event
    return kind("claude", session_id, None, None, subtype, raw, ephemeral, **typed)
