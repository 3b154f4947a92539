"""RPC messages as dicts, and the view that a client reduces them to."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import msgspec

from turnwire.core.view import (
    BlockView,
    EventView,
    MessageView,
    OtherView,
    TextView,
    ThinkingView,
    ToolView,
    View,
)
from turnwire.dialects.rpc import Transcript, decode
from turnwire.dialects.rpc import messages as rpc


def frame(**fields: Any) -> dict[str, Any]:
    """A message; without a parent it does not mention one."""
    message = {"provider": "claude", **fields}
    return {key: value for key, value in message.items() if value is not None}


_numbers = count(1)  # no two stream events share a uuid; the same one said twice does


def stream(event: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return frame(
        type="stream_event",
        uuid=f"evt-abc12345-{next(_numbers)}",
        session_id="sess-xyz",
        event=event,
        parent_tool_use_id=parent,
    )


def started(message_id: str | None = "msg_1", parent: str | None = None) -> dict[str, Any]:
    body = {"content": [], "model": "claude-sonnet-4-5"} | (
        {"id": message_id} if message_id else {}
    )
    return stream({"type": "message_start", "message": body}, parent)


def block(index: int, content_block: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    event = {"type": "content_block_start", "index": index, "content_block": content_block}
    return stream(event, parent)


def delta(index: int, kind: str, text: str, parent: str | None = None) -> dict[str, Any]:
    field = {"input_json_delta": "partial_json"}.get(kind, kind.removesuffix("_delta"))
    grown = {"type": kind, field: text}
    return stream({"type": "content_block_delta", "index": index, "delta": grown}, parent)


def stop(index: int, parent: str | None = None) -> dict[str, Any]:
    return stream({"type": "content_block_stop", "index": index}, parent)


def ended(parent: str | None = None, **fields: Any) -> dict[str, Any]:
    return stream({"type": "message_stop", **fields}, parent)


def changed(stop_reason: str | None, usage: Any = None) -> dict[str, Any]:
    event = {"type": "message_delta", "delta": {"stop_reason": stop_reason}}
    return stream(event | ({"usage": usage} if usage else {}))


def assistant(*blocks: Any, parent: str | None = None, **body: Any) -> dict[str, Any]:
    message = {"content": list(blocks), **body}
    return frame(type="assistant", message=message, parent_tool_use_id=parent)


def user(*blocks: Any, parent: str | None = None) -> dict[str, Any]:
    return frame(type="user", message={"content": list(blocks)}, parent_tool_use_id=parent)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def thinking(words: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words}


def tool(tool_id: str, arguments: Any = None) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": tool_id,
        "toolName": "Read",
        "toolType": "CLAUDE_READ",
        "input": arguments,
        "status": "in_progress",
    }


def result(tool_id: str, content: Any = "ok", *, is_error: bool = False) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": tool_id,
        "content": content,
        "is_error": is_error,
    }


def read(wire: dict[str, Any]) -> rpc.RpcMessage:
    return decode(json.dumps(wire).encode())


def fold(*frames: dict[str, Any]) -> View:
    """Returns the view after these frames."""
    transcript = Transcript()
    for wire in frames:
        transcript.apply(read(wire))
    return transcript.view()


def blocks_of(message: MessageView) -> list[Any]:
    """A message's blocks, written as RPC writes them."""
    return [_as_rpc(shown) for shown in message.blocks]


def _as_rpc(shown: BlockView) -> Any:
    match shown:
        case TextView():
            return text(shown.text)
        case ThinkingView():
            signed = {"signature": shown.signature} if shown.signature else {}
            return thinking(shown.text) | signed
        case ToolView():
            unread = {} if shown.input_text is None else {"input_text": shown.input_text}
            return tool(shown.id, shown.input) | unread
        case OtherView():
            return shown.block
        case EventView():
            raise AssertionError("RPC shows no events")


def content(view: View) -> list[list[Any]]:
    """The blocks of every message."""
    return [blocks_of(message) for message in view.messages]


def card(view: View, tool_id: str) -> ToolView:
    """A tool's card."""
    blocks = [shown for message in view.messages for shown in message.blocks]
    (found,) = (shown for shown in blocks if isinstance(shown, ToolView) and shown.id == tool_id)
    return found


def screen(view: View) -> Any:
    """Returns everything that a person could see, to compare two views."""
    return json.loads(msgspec.json.encode(view))


NOTHING: Any = {"messages": [], "turns": []}
