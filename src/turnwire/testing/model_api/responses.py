"""The Responses API of OpenAI."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar, assert_never

import msgspec

from turnwire.testing.model_api import script as s
from turnwire.testing.model_api.protocol import Beat, Ids, Protocol, words

__all__ = ["Responses"]

_RESULTS = ("function_call_output", "custom_tool_call_output")
_TOKENS = {"input_tokens": 100, "output_tokens": 20}


class Responses(Protocol):
    """Requests are lists of input items; replies are responses of output items."""

    path = "/v1/responses"
    call_prefix = "call"
    errors: ClassVar = {
        400: "invalid_request_error",
        401: "invalid_api_key",
        403: "permission_error",
        404: "not_found_error",
        429: "rate_limit_exceeded",
        500: "server_error",
        503: "server_is_overloaded",
    }

    def messages(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        given = body.get("input") or []
        if isinstance(given, str):
            return [{"type": "message", "role": "user", "content": given}]
        return msgspec.convert(given, list[dict[str, Any]])

    def prompt(self, messages: list[dict[str, Any]]) -> str:
        """Returns the last message before the model's first one: earlier ones are context."""
        found = ""
        for item in messages:
            if item.get("role") == "user":
                found = words(item.get("content"))
            elif item.get("role") not in ("developer", "system"):
                break
        return found

    def tool_results(self, messages: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        found = (item for item in messages if item.get("type") in _RESULTS)
        return {str(item.get("call_id")): item for item in found}

    def events(self, reply: s.Say, ids: Ids) -> Iterator[Beat]:
        number = 0
        head = _response(reply, ids)
        for beat in self._events(reply, ids, head):
            if isinstance(beat.event, dict):
                beat.event["sequence_number"] = number
                number += 1
            yield beat

    def _events(self, reply: s.Say, ids: Ids, head: dict[str, Any]) -> Iterator[Beat]:
        yield Beat({"type": "response.created", "response": head}, reply.delay)
        if reply.ping:
            yield Beat({"type": "response.in_progress", "response": head})
        output: list[dict[str, Any]] = []
        for block in reply.blocks:
            if isinstance(block, s.Hold):
                yield Beat(None, hold=block.name)
            elif isinstance(block, s.Raw):
                yield Beat(block)
            else:
                given = s.Text(block) if isinstance(block, str) else block
                item = _item(given, f"{ids.message}_{len(output)}", ids)
                yield from _stream(given, item, len(output))
                output.append(item)
        done = {**head, "status": "completed", "output": output, "usage": _usage(reply)}
        yield Beat({"type": "response.completed", "response": done})

    def whole(self, reply: s.Say, ids: Ids) -> dict[str, Any]:
        given = [s.Text(block) if isinstance(block, str) else block for block in reply.blocks]
        content = [block for block in given if not isinstance(block, s.Hold | s.Raw)]
        output = [_item(block, f"{ids.message}_{at}", ids) for at, block in enumerate(content)]
        done = {"status": "completed", "output": output, "usage": _usage(reply)}
        return {**_response(reply, ids), **done}

    def error_body(self, failed: s.Fail) -> dict[str, Any]:
        kind = self.error_type(failed)
        return {"error": {"type": kind, "code": kind, "message": failed.message, "param": None}}

    def error_event(self, failed: s.Fail, ids: Ids) -> dict[str, Any]:
        error = {"code": self.error_type(failed), "message": failed.message}
        response = {"id": ids.message, "object": "response", "status": "failed", "error": error}
        return {"type": "response.failed", "response": response}


def _response(reply: s.Say, ids: Ids) -> dict[str, Any]:
    return {
        "id": ids.message,
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "model": reply.model or ids.model,
        "output": [],
        "usage": None,
        "error": None,
    }


def _usage(reply: s.Say) -> dict[str, Any]:
    usage: dict[str, Any] = {
        **_TOKENS,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
        **reply.usage,
    }
    return {"total_tokens": usage["input_tokens"] + usage["output_tokens"], **usage}


def _item(block: s.Block, item_id: str, ids: Ids) -> dict[str, Any]:
    """Returns the finished output item of a block."""
    about = {"id": item_id, "status": "completed"}
    match block:
        case s.Text():
            part = {"type": "output_text", "text": block.text, "annotations": []}
            return {"type": "message", "role": "assistant", **about, "content": [part]}
        case s.Thinking():
            summary = [] if block.raw else [{"type": "summary_text", "text": block.thinking}]
            item = {"type": "reasoning", "id": item_id, "summary": summary}
            if block.raw:
                item["content"] = [{"type": "reasoning_text", "text": block.thinking}]
            return {**item, "encrypted_content": block.signature}
        case s.RedactedThinking():
            hidden = {"summary": [], "encrypted_content": block.data}
            return {"type": "reasoning", "id": item_id, **hidden}
        case s.ToolUse():
            call = {**about, "call_id": block.id or ids.call(), "name": block.name}
            if block.namespace is not None:
                call["namespace"] = block.namespace
            if block.text is not None:
                return {"type": "custom_tool_call", **call, "input": block.text}
            said = json.dumps(block.input, ensure_ascii=False) if block.json is None else block.json
            return {"type": "function_call", **call, "arguments": said}
        case s.Hold() | s.Raw():
            raise TypeError(f"{type(block).__name__} is no item.")
        case _:
            assert_never(block)


def _stream(block: s.Block, item: dict[str, Any], index: int) -> Iterator[Beat]:
    """Yields the events of one item: its beginning, its pieces, and the whole."""
    place = {"item_id": item["id"], "output_index": index}

    def event(kind: str, delay: float = 0.0, **more: Any) -> Beat:
        return Beat({"type": f"response.{kind}", **place, **more}, delay)

    def added(**empty: Any) -> Beat:
        begun = {**item, **empty}
        if "status" in begun:
            begun["status"] = "in_progress"
        kind = "response.output_item.added"
        return Beat({"type": kind, "output_index": index, "item": begun})

    match block:
        case s.Text():
            part = item["content"][0]
            yield added(content=[])
            yield event("content_part.added", content_index=0, part={**part, "text": ""})
            *first, last = s.pieces(block.text, block.cuts)
            for piece in first:
                yield event("output_text.delta", block.delay, content_index=0, delta=piece)
            if block.hold is not None:
                yield Beat(None, hold=block.hold)
            yield event("output_text.delta", block.delay, content_index=0, delta=last)
            yield event("output_text.done", content_index=0, text=block.text)
            yield event("content_part.done", content_index=0, part=part)
        case s.Thinking() if block.raw:
            yield added(content=[])
            for piece in s.pieces(block.thinking, block.cuts):
                yield event("reasoning_text.delta", block.delay, content_index=0, delta=piece)
            yield event("reasoning_text.done", content_index=0, text=block.thinking)
        case s.Thinking():
            part = item["summary"][0]
            yield added(summary=[])
            yield event("reasoning_summary_part.added", summary_index=0, part={**part, "text": ""})
            for piece in s.pieces(block.thinking, block.cuts):
                yield event(
                    "reasoning_summary_text.delta", block.delay, summary_index=0, delta=piece
                )
            yield event("reasoning_summary_text.done", summary_index=0, text=block.thinking)
            yield event("reasoning_summary_part.done", summary_index=0, part=part)
        case s.ToolUse():
            field = "arguments" if block.text is None else "input"
            kind = "function_call_arguments" if block.text is None else "custom_tool_call_input"
            yield added(**{field: ""})
            for piece in s.pieces(item[field], block.cuts):
                yield event(f"{kind}.delta", block.delay, delta=piece)
            yield event(f"{kind}.done", **{field: item[field]})
        case _:
            yield added()
    yield Beat({"type": "response.output_item.done", "output_index": index, "item": item})
