"""The Messages API of Anthropic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar, assert_never

import msgspec

from turnwire.testing.model_api import script as s
from turnwire.testing.model_api.protocol import Beat, Ids, Protocol, words

__all__ = ["Messages"]

_USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


class Messages(Protocol):
    """Requests are lists of messages; replies are messages of content blocks."""

    path = "/v1/messages"
    call_prefix = "toolu"
    errors: ClassVar = {
        400: "invalid_request_error",
        401: "authentication_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }

    def messages(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        return msgspec.convert(body.get("messages") or [], list[dict[str, Any]])

    def prompt(self, messages: list[dict[str, Any]]) -> str:
        first = (message for message in messages if message.get("role") == "user")
        return words(next(first, {}).get("content"))

    def tool_results(self, messages: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        blocks = (
            block
            for message in messages
            if isinstance(message.get("content"), list)
            for block in message["content"]
        )
        results = (b for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result")
        return {str(block.get("tool_use_id")): block for block in results}

    def events(self, reply: s.Say, ids: Ids) -> Iterator[Beat]:
        message = _head(reply, ids)
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
            yield from _block(index, s.Text(block) if isinstance(block, str) else block, ids)
            index += 1
        ended = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
        yield Beat({"type": "message_delta", "delta": ended, "usage": {**_USAGE, **reply.usage}})
        yield Beat({"type": "message_stop"})

    def whole(self, reply: s.Say, ids: Ids) -> dict[str, Any]:
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
                    call = {"id": block.id or ids.call(), "name": block.name, "input": block.input}
                    content.append({"type": "tool_use", **call})
                case s.Hold() | s.Raw():
                    pass
                case _:
                    assert_never(block)
        ended = {"stop_reason": _stop_reason(reply), "usage": {**_USAGE, **reply.usage}}
        return {**_head(reply, ids), "content": content, **ended}

    def error_body(self, failed: s.Fail) -> dict[str, Any]:
        kind = self.error_type(failed)
        return {"type": "error", "error": {"type": kind, "message": failed.message}}


def _block(index: int, block: s.Block, ids: Ids) -> Iterator[Beat]:
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
            call = {"type": "tool_use", "id": block.id or ids.call(), "name": block.name}
            yield start({**call, "input": {}})
            said = json.dumps(block.input, ensure_ascii=False) if block.json is None else block.json
            for piece in s.pieces(said, block.cuts):
                yield delta("input_json_delta", "partial_json", piece, block.delay)
        case s.Hold() | s.Raw():
            return
        case _:
            assert_never(block)
    yield Beat({"type": "content_block_stop", "index": index})


def _head(reply: s.Say, ids: Ids) -> dict[str, Any]:
    return {
        "id": ids.message,
        "type": "message",
        "role": "assistant",
        "model": reply.model or ids.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {**_USAGE, **reply.usage, "output_tokens": 1},
    }


def _stop_reason(reply: s.Say) -> str:
    calls = any(isinstance(block, s.ToolUse) for block in reply.blocks)
    return reply.stop_reason or ("tool_use" if calls else "end_turn")
