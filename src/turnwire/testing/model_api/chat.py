"""The Chat Completions API of OpenAI, which most providers and local servers speak as well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from turnwire.testing.model_api import script as s
from turnwire.testing.model_api.protocol import Beat, Ids, Protocol, sse, words

__all__ = ["ChatCompletions"]

_TOKENS = {"prompt_tokens": 100, "completion_tokens": 20}
_FINISHED = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}


class ChatCompletions(Protocol):
    """Requests are lists of messages; replies are chunks of one choice."""

    path = "/v1/chat/completions"
    call_prefix = "call"
    last = b"data: [DONE]\n\n"
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
        return msgspec.convert(body.get("messages") or [], list[dict[str, Any]])

    def prompt(self, messages: list[dict[str, Any]]) -> str:
        said = (words(each.get("content")) for each in messages if each.get("role") == "user")
        return next(said, "")

    def tool_results(self, messages: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        found = (each for each in messages if each.get("role") == "tool")
        return {str(each.get("tool_call_id")): each for each in found}

    def events(self, reply: s.Say, ids: Ids) -> Iterator[Beat]:
        def chunk(delta: dict[str, Any], delay: float = 0.0, finish: str | None = None) -> Beat:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return Beat(_head(reply, ids, "chat.completion.chunk", [choice]), delay)

        yield chunk({"role": "assistant", "content": ""}, reply.delay)
        calls = 0
        for block in reply.blocks:
            match s.Text(block) if isinstance(block, str) else block:
                case s.Hold(name=name):
                    yield Beat(None, hold=name)
                case s.Raw() as raw:
                    yield Beat(raw)
                case s.Text() as text:
                    *first, last = s.pieces(text.text, text.cuts)
                    for piece in first:
                        yield chunk({"content": piece}, text.delay)
                    if text.hold is not None:
                        yield Beat(None, hold=text.hold)
                    yield chunk({"content": last}, text.delay)
                case s.Thinking() as thinking:
                    for piece in s.pieces(thinking.thinking, thinking.cuts):
                        yield chunk({"reasoning_content": piece}, thinking.delay)
                case s.ToolUse() as call:
                    about = _call(call, ids)
                    said = about["function"]["arguments"]
                    begun = {"name": call.name, "arguments": ""}
                    yield chunk({"tool_calls": [{**about, "index": calls, "function": begun}]})
                    for piece in s.pieces(said, call.cuts):
                        more = {"index": calls, "function": {"arguments": piece}}
                        yield chunk({"tool_calls": [more]}, call.delay)
                    calls += 1
                case s.RedactedThinking():
                    pass  # this API has no encrypted reasoning
        yield chunk({}, finish=_finish(reply))
        yield Beat({**_head(reply, ids, "chat.completion.chunk", []), "usage": _usage(reply)})

    def whole(self, reply: s.Say, ids: Ids) -> dict[str, Any]:
        given = [s.Text(block) if isinstance(block, str) else block for block in reply.blocks]
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(block.text for block in given if isinstance(block, s.Text)),
        }
        thinking = "".join(block.thinking for block in given if isinstance(block, s.Thinking))
        if thinking:
            message["reasoning_content"] = thinking
        calls = [_call(block, ids) for block in given if isinstance(block, s.ToolUse)]
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
        return {**_head(reply, ids, "chat.completion", [choice]), "usage": _usage(reply)}

    def error_body(self, failed: s.Fail) -> dict[str, Any]:
        kind = self.error_type(failed)
        return {"error": {"type": kind, "code": kind, "message": failed.message, "param": None}}

    def encode(self, event: dict[str, Any] | s.Raw) -> bytes:
        if isinstance(event, s.Raw):
            return sse(event.event, event.data)
        return sse("", event)  # events of this API have no names


def _head(reply: s.Say, ids: Ids, kind: str, choices: list[Any]) -> dict[str, Any]:
    model = reply.model or ids.model
    return {"id": ids.message, "object": kind, "created": 0, "model": model, "choices": choices}


def _call(call: s.ToolUse, ids: Ids) -> dict[str, Any]:
    said = json.dumps(call.input, ensure_ascii=False) if call.json is None else call.json
    function = {"name": call.name, "arguments": said}
    return {"id": call.id or ids.call(), "type": "function", "function": function}


def _finish(reply: s.Say) -> str:
    called = any(isinstance(block, s.ToolUse) for block in reply.blocks)
    reason = reply.stop_reason or ("tool_use" if called else "end_turn")
    return _FINISHED.get(reason, reason)


def _usage(reply: s.Say) -> dict[str, Any]:
    usage: dict[str, Any] = {**_TOKENS, **reply.usage}
    return {"total_tokens": usage["prompt_tokens"] + usage["completion_tokens"], **usage}
