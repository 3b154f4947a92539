"""Claude Code's file of a session: the kind of each record, and its position in the tree."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from turnwire.core.blocks import UnknownBlock
from turnwire.core.content import Content, ImageContent, OtherContent, TextContent
from turnwire.core.times import ms_of
from turnwire.dialects.claude import blocks
from turnwire.dialects.claude.lines import Line, decode
from turnwire.dialects.claude.messages import AssistantMessage, UserMessage
from turnwire.errors import BadLine

__all__ = ["Kind", "Record", "Title", "as_said", "read_record"]

# said:    a message of a person, which starts a turn
# begun:   a turn that starts by itself, for example after background work has ended
# told:    a message of the model
# result:  a result of a tool
# stopped: the mark that a person interrupted the turn
# news:    any other record that is stored
# aside:   a record only for the model or for the program itself
Kind: TypeAlias = Literal["said", "begun", "told", "result", "stopped", "news", "aside"]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z")
_STOPPED = "[Request interrupted by user"
# Written by the program as messages of the user.
_NOT_SAID = ("<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>")
_ASIDE = frozenset(["attachment", "progress"])
_ASIDE_NEWS = frozenset(["api_error", "stop_hook_summary", "turn_duration"])
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_BY_A_PERSON = (None, "human", "user")


class Title(Struct, frozen=True):
    """A title of a session."""

    kind: str  # custom-title, ai-title or summary
    text: str
    leaf: str | None = None  # of a summary: the last message that it covers


class Record(Struct, frozen=True):
    """A line with a position in the tree of messages."""

    number: int  # the number of the line in its file
    uuid: str
    parent: str | None
    kind: Kind
    at: int | None  # milliseconds since 1970
    data: dict[str, Any]  # the whole line
    is_side: bool = False  # belongs to a sub-agent
    agent_id: str | None = None  # of that sub-agent
    content: list[Content] = []  # of a message of a person
    message_id: str | None = None  # of a message of the model
    calls: tuple[str, ...] = ()  # the tool calls in it
    answered: tuple[str, ...] = ()  # the calls whose results are in it


class _Head(Struct, gc=False):
    type: Any = None
    uuid: Any = None


_decode_head = msgspec.json.Decoder(_Head).decode


def read_record(raw: bytes, number: int) -> Record | Title | None:
    """Reads a line. Returns None for the program's own bookkeeping. Raises BadLine."""
    line = decode(raw, number)
    try:
        head = _decode_head(line.raw)
        if not isinstance(head.uuid, str) and head.type not in _TITLES:
            return None
        data = msgspec.json.decode(line.raw)
    except (ValueError, RecursionError) as problem:
        raise BadLine("invalid_json", f"unreadable: {problem}", line=number, raw=raw) from None
    if head.type in _TITLES:
        text = _text(data, _TITLES[head.type])
        return Title(head.type, text, _text(data, "leafUuid")) if text else None
    return _record(line, data)


def as_said(record: Record, call: str | None) -> Line:
    """Returns the record as a line of the stream; `call` is the tool call of its sub-agent."""
    data = record.data
    said = {
        **data,
        "session_id": data.get("sessionId"),
        "parent_tool_use_id": call,
        "agent_id": record.agent_id,
    }
    if "toolUseResult" in data:
        said["tool_use_result"] = said.pop("toolUseResult")
    if data.get("type") == "user" and call is None and record.kind != "result":
        said["isSynthetic"] = record.kind != "stopped"
    return decode(msgspec.json.encode(said), record.number)


def _record(line: Line, data: dict[str, Any]) -> Record:
    time = _text(data, "timestamp") or ""
    kind, content = _kind(line, data)
    message_id: str | None = None
    calls: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    if isinstance(line.message, AssistantMessage) and line.message.message is not None:
        message_id = line.message.message.id
        calls = tuple(b.id for b in _blocks(line) if isinstance(b, blocks.ToolUseBlock))
    elif kind == "result":
        results = (b for b in _blocks(line) if isinstance(b, blocks.ToolResultBlock))
        answered = tuple(b.tool_use_id for b in results)
    return Record(
        line.number,
        data["uuid"],
        _text(data, "parentUuid") or _text(data, "logicalParentUuid"),
        kind,
        ms_of(time) if _TIME.fullmatch(time) else None,
        data,
        data.get("isSidechain") is True,
        _text(data, "agentId"),
        content,
        message_id,
        calls,
        answered,
    )


def _kind(line: Line, data: dict[str, Any]) -> tuple[Kind, list[Content]]:
    kind = data.get("type")
    match line.message:
        case AssistantMessage():
            return "told", []
        case UserMessage():
            return _kind_of_user(line, data)
        case _ if kind == "attachment":
            return _queued(data)
        case _ if kind in _ASIDE or (kind == "system" and data.get("subtype") in _ASIDE_NEWS):
            return "aside", []
        case _:
            return "news", []


def _queued(data: dict[str, Any]) -> tuple[Kind, list[Content]]:
    """Reads a message of a person during a turn, which the file stores as an attachment."""
    match data.get("attachment"):
        case {"type": "queued_command", "prompt": str(text), **more} if (
            text.strip() and more.get("commandMode", "prompt") == "prompt"
        ):
            return "said", [TextContent(text)]
        case _:
            return "aside", []


def _kind_of_user(line: Line, data: dict[str, Any]) -> tuple[Kind, list[Content]]:
    if any(isinstance(block, blocks.ToolResultBlock) for block in _blocks(line)):
        return "result", []
    if data.get("isMeta") is True or data.get("isCompactSummary") is True:
        return "news", []
    origin = data.get("origin")
    if isinstance(origin, dict) and origin.get("kind") not in _BY_A_PERSON:
        return "begun", []
    if data.get("promptSource") == "system":
        return "begun", []
    content = [_content(block) for block in _blocks(line)]
    text = "".join(part.text for part in content if isinstance(part, TextContent)).strip()
    if text.startswith(_STOPPED):
        return "stopped", []
    if text.startswith(_NOT_SAID):
        return "news", []
    if not text and all(isinstance(part, TextContent) for part in content):
        return "aside", []
    typed = _typed(text)
    return "said", content if typed is None else [TextContent(typed)]


def _typed(text: str) -> str | None:
    """Returns a slash command as the person typed it."""
    if text.startswith("<bash-input>"):
        shell = _inside(text, "bash-input")
        return None if shell is None else f"!{shell.strip()}"
    name = _inside(text, "command-name") if text.startswith("<command-") else None
    if name is None:
        return None
    return f"{name.strip()} {_inside(text, 'command-args') or ''}".strip()


def _inside(text: str, tag: str) -> str | None:
    """Returns the content of the first element of this name; None if it is not complete."""
    _, begin, rest = text.partition(f"<{tag}>")
    inside, end, _ = rest.partition(f"</{tag}>")
    return inside if begin and end else None


def _blocks(line: Line) -> list[blocks.ClaudeBlock]:
    message = line.message
    if not isinstance(message, AssistantMessage | UserMessage) or message.message is None:
        return []
    content = message.message.content
    if isinstance(content, str):
        return [blocks.TextBlock(content)]
    return content or []


def _content(block: blocks.ClaudeBlock) -> Content:
    match block:
        case blocks.TextBlock(text=text):
            return TextContent(text)
        case blocks.ImageBlock(source=source) if source.data or source.url:
            return ImageContent(source.media_type, source.data, source.url)
        case UnknownBlock(original_type=kind, data=data):
            return OtherContent(kind, data)
        case _:
            return OtherContent(str(block.__struct_config__.tag), msgspec.to_builtins(block))


def _text(data: dict[str, Any], name: str) -> str | None:
    value = data.get(name)
    return value if isinstance(value, str) and value else None
