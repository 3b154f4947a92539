"""Rebuilds the messages of pydantic-ai from the log. Nothing else is stored."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai import messages as ai

from turnwire.core import message as m
from turnwire.core.content import Content, FileContent, ImageContent, LoadedFile, TextContent
from turnwire.core.message import Message, to_json

__all__ = ["calls_in", "history_of", "open_calls", "prompt_of", "result_text"]

_NO_RESULT = "This call was interrupted and has no result."


def history_of(entries: Iterable[Message], *, leave_open: Sequence[str] = ()) -> list[Any]:
    """Returns the log as messages of a model.

    A model rejects a call that is not directly followed by its result. So each result is moved to
    its call, and a call without a result gets one, except the calls of `leave_open`. Thinking is
    left out, because another model, or another version of it, may not accept it. So are the words
    of sub-agents: the result of their call is what the agent was told.
    """
    own = _own(entries)
    results = {
        part.payload.tool_call_id: result_text(part.payload.content)
        for part in _parts(own, m.ToolResultPart)
    }
    found: list[Any] = []
    for entry in own:
        match entry.role:
            case "user":
                said = [content for part in entry.parts if (content := _said(part)) is not None]
                if said:
                    _add(found, ai.ModelRequest, [ai.UserPromptPart(said)])
            case "assistant":
                if said := _answered(entry):
                    _add(found, ai.ModelResponse, said)
            case "tool":
                _add(found, ai.ModelRequest, [])  # what the agent says next is another message
            case _:
                pass
    return _with_results(found, results, leave_open)


def calls_in(entries: Iterable[Message]) -> set[str]:
    """Returns the ids of all tool calls, also of other agents."""
    return {part.payload.tool_call_id for part in _parts(entries, m.ToolCallPart)}


def open_calls(entries: Iterable[Message]) -> dict[str, str]:
    """Returns the calls without a result, with the names of their tools."""
    own = _own(entries)
    results = {part.payload.tool_call_id for part in _parts(own, m.ToolResultPart)}
    calls = [part.payload for part in _parts(own, m.ToolCallPart)]
    return {c.tool_call_id: c.tool_name for c in calls if c.tool_call_id not in results}


def prompt_of(content: list[Content]) -> list[Any]:
    """Returns a person's message as the prompt of a model."""
    found: list[Any] = []
    for item in content:
        match item:
            case TextContent(text=text):
                found.append(text)
            case ImageContent(data=str(data)):
                raw = base64.b64decode(data)
                found.append(ai.BinaryContent(raw, media_type=item.mime_type or "image/png"))
            case ImageContent(url=str(url)):
                found.append(ai.ImageUrl(url))
            case LoadedFile(data=str(data), path=path, mime_type=str(kind)):
                found.append(f"[file: {path}]")
                found.append(ai.BinaryContent(base64.b64decode(data), media_type=kind))
            case FileContent(path=path):
                found.append(f"[file: {path}]")
            case _:
                pass
    return found


def result_text(content: Any) -> str:
    """Returns the result of a tool as text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(each, m.TextPart) for each in content):
        return "\n".join(each.payload.text for each in content)
    return str(to_json(content))


def _own(entries: Iterable[Message]) -> list[Message]:
    """Returns the entries without those of sub-agents."""
    return [entry for entry in entries if entry.meta.get("parentToolUseId") is None]


def _parts(entries: Iterable[Message], kind: type[Any]) -> list[Any]:
    return [part for entry in entries for part in entry.parts if isinstance(part, kind)]


def _said(part: Any) -> Any:
    match part:
        case m.TextPart(payload):
            return payload.text
        case m.ImagePart(payload) if payload.data is not None:
            return ai.BinaryContent(base64.b64decode(payload.data), media_type=payload.mime_type)
        case m.ImagePart(payload) if payload.url is not None:
            return ai.ImageUrl(payload.url)
        case m.FileRefPart(payload):
            return f"[file: {payload.path}]"
        case _:
            return None


def _answered(entry: Message) -> list[Any]:
    """Returns what the agent said and called."""
    found: list[Any] = []
    for part in entry.parts:
        match part:
            case m.TextPart(payload) if payload.text:
                found.append(ai.TextPart(payload.text))
            case m.ToolCallPart(payload):
                call = ai.ToolCallPart(payload.tool_name, payload.arguments, payload.tool_call_id)
                found.append(call)
            case _:
                pass
    return found


def _with_results(
    found: list[Any], results: dict[str, str], leave_open: Sequence[str]
) -> list[Any]:
    """Puts the results of calls first into the request that follows the calls."""
    messages: list[Any] = []
    for message in found:
        _add(messages, type(message), message.parts)
        if isinstance(message, ai.ModelRequest):
            continue
        returned = [
            ai.ToolReturnPart(
                tool_name=call.tool_name,
                content=results.get(call.tool_call_id, _NO_RESULT),
                tool_call_id=call.tool_call_id,
            )
            for call in message.parts
            if isinstance(call, ai.ToolCallPart)
            and (call.tool_call_id in results or call.tool_call_id not in leave_open)
        ]
        if returned:
            messages.append(ai.ModelRequest(parts=returned))
    return [message for message in messages if message.parts]


def _add(found: list[Any], kind: type[Any], parts: Sequence[Any]) -> None:
    """Adds parts to the last message, if it is of the same kind, else as a new one."""
    if found and type(found[-1]) is kind:
        found[-1] = kind(parts=[*found[-1].parts, *parts])
    else:
        found.append(kind(parts=parts))
