"""Frames of Claude's stream as dicts, and searches in the events that they become."""

from __future__ import annotations

from typing import Any, TypeVar

from turnwire.core.events import NormalizedStreamEvent

E = TypeVar("E")
Frame = dict[str, Any]


def se(event: Frame, **more: Any) -> Frame:
    return {"type": "stream_event", "session_id": "s", "event": event, **more}


def start(message_id: str | None = "m1", **more: Any) -> Frame:
    return se({"type": "message_start", "message": {"id": message_id, "model": "claude"}}, **more)


def block_start(index: int, block: Frame, **more: Any) -> Frame:
    return se({"type": "content_block_start", "index": index, "content_block": block}, **more)


def text_start(index: int = 0, **more: Any) -> Frame:
    return block_start(index, {"type": "text", "text": ""}, **more)


def tool_start(index: int, tool_id: str, name: str = "Bash", **more: Any) -> Frame:
    block = {"type": "tool_use", "id": tool_id, "name": name, "input": {}}
    return block_start(index, block, **more)


def delta(index: int, body: Frame, **more: Any) -> Frame:
    return se({"type": "content_block_delta", "index": index, "delta": body}, **more)


def text(index: int, piece: str, **more: Any) -> Frame:
    return delta(index, {"type": "text_delta", "text": piece}, **more)


def json_piece(index: int, piece: str, **more: Any) -> Frame:
    return delta(index, {"type": "input_json_delta", "partial_json": piece}, **more)


def block_stop(index: int = 0, **more: Any) -> Frame:
    return se({"type": "content_block_stop", "index": index}, **more)


def message_delta(stop_reason: str | None = "end_turn", **more: Any) -> Frame:
    usage = {"input_tokens": 10, "output_tokens": 5}
    return se(
        {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage}, **more
    )


def message_stop(**more: Any) -> Frame:
    return se({"type": "message_stop"}, **more)


def assistant(*content: Frame, message_id: str | None = "m1", **more: Any) -> Frame:
    message: Frame = {"model": "claude", "content": list(content)}
    if message_id is not None:
        message["id"] = message_id
    return {"type": "assistant", "session_id": "s", "message": message, **more}


def said(words: str) -> Frame:
    return {"type": "text", "text": words}


def call(tool_id: str, name: str = "Bash", tool_input: Any = None) -> Frame:
    return {"type": "tool_use", "id": tool_id, "name": name, "input": tool_input or {}}


def user(content: Any, **more: Any) -> Frame:
    return {
        "type": "user",
        "session_id": "s",
        "message": {"role": "user", "content": content},
        **more,
    }


def tool_result(tool_id: str, content: Any = "ok", **more: Any) -> Frame:
    return {"type": "tool_result", "tool_use_id": tool_id, "content": content, **more}


def result(**more: Any) -> Frame:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": "s",
        "terminal_reason": "completed",
        "stop_reason": "end_turn",
        **more,
    }


INIT: Frame = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude"}


def only(kind: type[E], events: list[NormalizedStreamEvent]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def one(kind: type[E], events: list[NormalizedStreamEvent]) -> E:
    (event,) = only(kind, events)
    return event


def kinds(events: list[NormalizedStreamEvent]) -> list[str]:
    return [type(event).__name__ for event in events]
