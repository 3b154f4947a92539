"""Converts a scripted reply to the format of the Messages API: a stream, or one message."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, assert_never

from turnwire.testing.model_api import script as s

__all__ = ["Beat", "error_body", "events", "status_of", "whole"]

_USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


class Beat(NamedTuple):
    """An event and the seconds before it, or a hold if the event is None."""

    event: dict[str, Any] | s.Raw | None
    delay: float = 0.0
    hold: str = ""


def events(reply: s.Say, *, message_id: str, model: str, call_id: Any) -> Iterator[Beat]:
    """Yields the events of a stream. `call_id` returns an id for a tool call that has none."""
    message = _head(reply, message_id, model)
    yield Beat({"type": "message_start", "message": message}, reply.delay)
    if reply.ping:
        yield Beat({"type": "ping"})
    index = 0
    for block in reply.blocks:
        if isinstance(block, s.Hold):
            yield Beat(None, hold=block.name)
            continue
        if isinstance(block, s.Raw):
            yield Beat(block)
            continue
        yield from _block(index, s.Text(block) if isinstance(block, str) else block, call_id)
        index += 1
    ended = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    yield Beat({"type": "message_delta", "delta": ended, "usage": {**_USAGE, **reply.usage}})
    yield Beat({"type": "message_stop"})


def _block(index: int, block: s.Block, call_id: Any) -> Iterator[Beat]:
    def start(content: dict[str, Any]) -> Beat:
        return Beat({"type": "content_block_start", "index": index, "content_block": content})

    def delta(kind: str, field: str, piece: str, delay: float = 0.0) -> Beat:
        change = {"type": kind, field: piece}
        return Beat({"type": "content_block_delta", "index": index, "delta": change}, delay)

    match block:
        case s.Text():
            yield start({"type": "text", "text": ""})
            *first, last = s.pieces(block.text, block.cuts)
            for piece in first:
                yield delta("text_delta", "text", piece, block.delay)
            if block.hold is not None:
                yield Beat(None, hold=block.hold)
            yield delta("text_delta", "text", last, block.delay)
        case s.Thinking():
            yield start({"type": "thinking", "thinking": "", "signature": ""})
            for piece in s.pieces(block.thinking, block.cuts):
                yield delta("thinking_delta", "thinking", piece, block.delay)
            yield delta("signature_delta", "signature", block.signature)
        case s.RedactedThinking():
            yield start({"type": "redacted_thinking", "data": block.data})
        case s.ToolUse():
            call = {"type": "tool_use", "id": block.id or call_id(), "name": block.name}
            yield start({**call, "input": {}})
            said = json.dumps(block.input, ensure_ascii=False) if block.json is None else block.json
            for piece in s.pieces(said, block.cuts):
                yield delta("input_json_delta", "partial_json", piece, block.delay)
        case s.Hold() | s.Raw():
            return
        case _:
            assert_never(block)
    yield Beat({"type": "content_block_stop", "index": index})


def whole(reply: s.Say, *, message_id: str, model: str, call_id: Any) -> dict[str, Any]:
    """Returns the complete message for a client that requested no stream."""
    content: list[dict[str, Any]] = []
    for block in reply.blocks:
        match block:
            case str():
                content.append({"type": "text", "text": block})
            case s.Text():
                content.append({"type": "text", "text": block.text})
            case s.Thinking():
                thought = {"thinking": block.thinking, "signature": block.signature}
                content.append({"type": "thinking", **thought})
            case s.RedactedThinking():
                content.append({"type": "redacted_thinking", "data": block.data})
            case s.ToolUse():
                call = {"id": block.id or call_id(), "name": block.name, "input": block.input}
                content.append({"type": "tool_use", **call})
            case s.Hold() | s.Raw():
                pass
            case _:
                assert_never(block)
    ended = {"stop_reason": _stop_reason(reply), "usage": {**_USAGE, **reply.usage}}
    return {**_head(reply, message_id, model), "content": content, **ended}


def error_body(reply: s.Fail) -> dict[str, Any]:
    """Returns the body of an HTTP error."""
    kind = reply.error or _ERRORS.get(reply.status, "api_error")
    return {"type": "error", "error": {"type": kind, "message": reply.message}}


def status_of(error: str) -> int:
    """Returns the HTTP status of an error type, 500 for an unknown one."""
    return next((status for status, kind in _ERRORS.items() if kind == error), 500)


def _head(reply: s.Say, message_id: str, model: str) -> dict[str, Any]:
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": reply.model or model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**_USAGE, **reply.usage, "output_tokens": 1},
    }


def _stop_reason(reply: s.Say) -> str:
    calls = any(isinstance(block, s.ToolUse) for block in reply.blocks)
    return reply.stop_reason or ("tool_use" if calls else "end_turn")
