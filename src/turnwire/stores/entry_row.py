"""Columns of an entry's row: what queries need without reading the entry's JSON."""

from __future__ import annotations

from turnwire.core.conversation.effects import AddEntry
from turnwire.core.message import Message, ThinkingPart, ToolCallPart, ToolResultPart
from turnwire.core.message_codec import encode
from turnwire.core.text import encode_clean
from turnwire.redaction.redact import raw_event

__all__ = ["LongEntry", "json_of_entry", "message_type", "metadata_json"]


class LongEntry:
    """An entry bound to an SQL statement.

    The statement keeps a bound value until its next use, so the entry must be released after the
    write.
    """

    __slots__ = ("entry",)

    def __init__(self, entry: Message) -> None:
        self.entry: Message | None = entry

    def json(self) -> bytes:
        """Returns the entry as stored JSON."""
        assert self.entry is not None
        return json_of_entry(self.entry)


def json_of_entry(entry: Message) -> bytes:
    """Returns the entry as stored JSON."""
    return encode_clean(encode, entry)


def message_type(entry: Message) -> str:
    """Returns `text`, `tool_call`, `tool_result`, `input_request`, or the event's name."""
    name = entry.meta.get("messageType")
    if isinstance(name, str):
        return "text" if name == "system" else name
    match entry.parts:
        case [ToolCallPart(payload=call)]:
            return "input_request" if call.is_question else "tool_call"
        case [ToolResultPart()]:
            return "tool_result"
        case _:
            return "text"


def metadata_json(add: AddEntry, raw_limit: int) -> str | None:
    """Returns metadata stored with an entry, outside its JSON; None if the entry has none."""
    thinking = bool(add.entry.parts) and isinstance(add.entry.parts[0], ThinkingPart)
    if add.raw is None:
        return '{"thinking":true}' if thinking else None
    # The raw event is JSON already, so it is not decoded and encoded again.
    kept = raw_event(add.raw, raw_limit)
    return f'{{"thinking":true,"raw_event":{kept}}}' if thinking else f'{{"raw_event":{kept}}}'
