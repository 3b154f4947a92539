"""Renders a part of the log as text, for an agent that takes a conversation over, or a fork's.

Every line of the log is quoted with `> `, so that nothing in it can pass for the words around it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from turnwire.core import message as m
from turnwire.core.message import Message, to_json

__all__ = ["recap"]

_LIMIT = 60_000  # characters of the whole text; older entries are left out
_LONG = 20_000  # characters of one message
_CALL = 1_000  # characters of the arguments of a call
_RESULT = 2_000  # characters of the result of a call

_BEFORE = (
    "[You continue a conversation. What was said in it that you do not know yet follows, quoted line"
    " by line, with the name of who spoke.{yours}{left_out}]"
)
_YOURS = " What {agent} says there are your own words."
_LEFT_OUT = " It is long: the first {count} of {total} entries are left out."
_AFTER = "[The quote ends here. The next message is for you.]"


def recap(
    entries: Iterable[Message], *, agent: str | None = None, limit: int = _LIMIT
) -> str | None:
    """Returns what the entries say, newest last. Returns None if they say nothing.

    Reasoning and the words of sub-agents are left out. `agent` is the agent that is told: in a fork
    the entries have words of its own.
    """
    told: list[str] = []
    yours = ""
    for entry in entries:
        if text := _told(entry):
            told.append(text)
            if agent is not None and entry.meta.get("provider") == agent:
                yours = _YOURS.format(agent=agent)
    if not told:
        return None
    kept: list[str] = []
    left = limit
    for text in reversed(told):
        left -= len(text)
        if kept and left < 0:
            break
        kept.append(text)
    kept.reverse()
    missing = len(told) - len(kept)
    left_out = _LEFT_OUT.format(count=missing, total=len(told)) if missing else ""
    return "\n\n".join([_BEFORE.format(yours=yours, left_out=left_out), "\n>\n".join(kept), _AFTER])


def _told(entry: Message) -> str:
    """Returns an entry as quoted lines. Returns an empty text if it says nothing."""
    meta = entry.meta
    if meta.get("parentToolUseId") is not None:
        return ""
    match entry.role:
        case "user":
            who = str(meta.get("by") or "user")
        case "assistant":
            who = str(meta.get("provider") or "agent")
        case "tool":
            who = "result"
        case _:
            return ""
    said = [text for part in entry.parts if (text := _text(part))]
    return _quoted(f"{who}: " + "\n".join(said)) if said else ""


def _text(part: m.MessagePart) -> str:
    match part:
        case m.TextPart(payload):
            return _cut(payload.text, _LONG)
        case m.ToolCallPart(payload):
            given = payload.raw_args_text or payload.preview or _json(payload.arguments)
            return f"called {payload.tool_name} with {_cut(given, _CALL)}"
        case m.ToolResultPart(payload):
            failed = "(failed) " if payload.is_error else ""
            return failed + _cut(_result(payload.content), _RESULT)
        case m.ImagePart():
            return "[a picture]"
        case m.FileRefPart(payload):
            return f"[the file {payload.path}]"
        case _:
            return ""


def _result(content: list[m.MessagePart] | dict[str, object] | str) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for part in content if (text := _text(part)))
    return _json(content)


def _json(value: object) -> str:
    return msgspec.json.encode(to_json(value)).decode()


def _cut(text: str, most: int) -> str:
    text = text.strip()
    if len(text) <= most:
        return text
    return f"{text[:most]} [... {len(text) - most} more characters]"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
