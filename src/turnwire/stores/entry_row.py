"""An entry of the log as a row: the columns that a database should know without reading JSON."""

from __future__ import annotations

from typing import Any

from turnwire.core.conversation.effects import AddEntry
from turnwire.core.message import Message, ThinkingPart, ToolCallPart, ToolResultPart
from turnwire.core.questions import asks_a_person
from turnwire.stores.redact import raw_event
from turnwire.stores.text import json_text

__all__ = ["message_type", "metadata_json"]


def message_type(entry: Message) -> str:
    """`text`, `tool_call`, `tool_result`, `input_request`, or the name of the event that it tells."""
    name = entry.meta.get("messageType")
    if isinstance(name, str):
        return "text" if name == "system" else name
    match entry.parts:
        case [ToolCallPart(payload=call)]:
            return "input_request" if asks_a_person(call.tool_name) else "tool_call"
        case [ToolResultPart()]:
            return "tool_result"
        case _:
            return "text"


def metadata_json(add: AddEntry, raw_limit: int) -> str | None:
    """What is known of an entry and is no part of it."""
    data: dict[str, Any] = {}
    if add.entry.parts and isinstance(add.entry.parts[0], ThinkingPart):
        data["thinking"] = True
    if add.raw is not None:
        data["raw_event"] = raw_event(add.raw, raw_limit)
    return json_text(data) if data else None
