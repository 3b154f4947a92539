"""What a line of the program is, before anybody asks what it means."""

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
    """The control protocol is the SDK's, but for what people answer and for MCP servers of ours."""
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
    """A line that is no message is kept as it came."""
    data = Raw(msgspec.json.encode(raw.decode(errors="replace")))
    return ev.UnknownEvent("claude", session_id, None, None, "unreadable", data, str(bad))


def told_by_us(
    session_id: str,
    subtype: str,
    told: dict[str, Any],
    kind: type[ev.SystemEvent] = ev.SystemEvent,
    **typed: Any,
) -> NormalizedStreamEvent:
    """News about the program that it cannot tell itself, in the form of its own.

    `kind` says what follows from it, and `typed` are the fields that only this kind has.
    """
    raw = Raw(msgspec.json.encode({"type": "system", "subtype": subtype, **told}))
    ephemeral = kind is ev.TitleProposed  # the title is kept, and not that it changed
    return kind("claude", session_id, None, None, subtype, raw, ephemeral, **typed)
