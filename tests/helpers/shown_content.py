"""The content of an agent's frames and of a view in one comparable form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from turnwire.core.view import MessageView, ToolView, View

TOOL_TYPES = {
    "Agent": "CLAUDE_AGENT",
    "AskUserQuestion": "CLAUDE_ASK_USER_QUESTION",
    "Bash": "CLAUDE_BASH",
    "Read": "CLAUDE_READ",
    "TaskCreate": "CLAUDE_TASK_CREATE",
    "TaskUpdate": "CLAUDE_TASK_UPDATE",
    "TodoWrite": "CLAUDE_TODO_WRITE",
    "Write": "CLAUDE_WRITE",
    "mcp__front__request_input": "MCP",
}
Said: TypeAlias = dict[str, Any]


def said_by_the_frames(lines: list[bytes]) -> Said:
    """Returns the content of the finished assistant and user frames, read without Turnwire's code."""
    messages: dict[str, list[Any]] = {}
    users: dict[str | None, list[Any]] = {}
    results: dict[str, tuple[Any, bool]] = {}
    for raw in lines:
        frame = json.loads(raw)
        if frame["type"] not in ("assistant", "user"):
            continue
        content = frame["message"]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        rest = []
        for block in blocks:
            if block["type"] == "tool_result":
                is_error = bool(block.get("is_error"))
                results[block["tool_use_id"]] = (block.get("content"), is_error)
            else:
                rest.append(_as_shown(block))
        if frame["type"] == "assistant":
            messages.setdefault(frame["message"]["id"], []).extend(rest)
        elif rest:
            users.setdefault(frame["parent_tool_use_id"], []).append(rest)
    return {"messages": messages, "users": users, "results": results}


UNFINISHED = "no result: the turn ended"


def said_in_v2(lines: list[bytes]) -> Said:
    """Returns the same content as v2 has it: each call has a result."""
    frames = [json.loads(raw) for raw in lines]
    waiting = [
        frame["deferred_tool_use"]["id"] for frame in frames if frame.get("deferred_tool_use")
    ]
    said = said_by_the_frames(lines)
    for blocks in said["messages"].values():
        for call in [block["id"] for block in blocks if block["type"] == "tool"]:
            if call not in waiting:
                said["results"].setdefault(call, (UNFINISHED, True))
    return said


def _as_shown(block: Any) -> Any:
    if block["type"] == "thinking":
        return {
            "type": "thinking",
            "text": block["thinking"],
            "signature": block.get("signature") or None,
        }
    if block["type"] == "tool_use":
        name = block["name"]
        return {
            "type": "tool",
            "id": block["id"],
            "tool_name": name,
            "tool_type": TOOL_TYPES[name],
            "input": block["input"],
        }
    return block


def shown_in(view: View) -> Said:
    """Returns the content of a view, without its ids and status."""
    messages: dict[str, list[Any]] = {}
    users: dict[str | None, list[Any]] = {}
    results: dict[str, tuple[Any, bool]] = {}
    for message in all_messages(view):
        blocks = [_plain(block) for block in message.blocks]
        if message.role == "assistant":
            assert message.id not in messages
            messages[message.id] = blocks
        elif message.role == "user":
            users.setdefault(message.parent_tool_use_id, []).append(blocks)
        for block in message.blocks:
            if isinstance(block, ToolView) and block.result is not None:
                results[block.id] = (block.result.content, block.result.is_error)
    return {"messages": messages, "users": users, "results": results}


def all_messages(view: View) -> Iterator[MessageView]:
    """Returns every message, those of sub-agents too."""
    waiting = list(view.messages)
    while waiting:
        message = waiting.pop(0)
        yield message
        for block in message.blocks:
            if isinstance(block, ToolView):
                waiting += block.messages


def check_ids(view: View) -> None:
    """Checks that no message is shown twice: its id and its sub-agent identify it."""
    names = [(message.parent_tool_use_id, message.id) for message in all_messages(view)]
    assert len(names) == len(set(names))


def _plain(block: Any) -> Any:
    told = json.loads(msgspec.json.encode(block))
    if told["type"] == "tool":
        return {
            "type": "tool",
            "id": told["id"],
            "tool_name": told["tool_name"],
            "tool_type": told["tool_type"],
            "input": told.get("input"),
        }
    if told["type"] == "thinking":
        return {
            "type": "thinking",
            "text": told["text"],
            "signature": told.get("signature") or None,
        }
    return {key: value for key, value in told.items() if key not in ("id", "status")}
