"""Rebuilds the messages of pydantic-ai from the log. Nothing else is stored."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai import messages as ai

from turnwire.core import message as m
from turnwire.core.content import Content, FileContent, ImageContent, TextContent
from turnwire.core.message import Message, to_json

__all__ = ["history_of", "open_calls", "prompt_of", "result_text"]

_NO_RESULT = "This call was interrupted and has no result."


def history_of(entries: Iterable[Message], *, leave_open: Sequence[str] = ()) -> list[Any]:
    """Returns the log as messages of a model.

    A model rejects calls without a result: they get one, except the calls of `leave_open`.
    Thinking is left out, because another model, or another version of it, may not accept it.
    """
    entries = list(entries)
    results = {part.payload.tool_call_id for part in _parts(entries, m.ToolResultPart)}
    names: dict[str, str] = {}
    found: list[Any] = []
    for entry in entries:
        match entry.role:
            case "user":
                said = [content for part in entry.parts if (content := _said(part)) is not None]
                if said:
                    _add(found, ai.ModelRequest, [ai.UserPromptPart(said)])
            case "assistant":
                _assistant(entry, found, names)
                for part in entry.parts:
                    if isinstance(part, m.ToolCallPart):
                        call = part.payload.tool_call_id
                        if call not in results and call not in leave_open:
                            _result(found, names, call, _NO_RESULT)
            case "tool":
                for part in entry.parts:
                    if isinstance(part, m.ToolResultPart) and part.payload.tool_call_id in names:
                        payload = part.payload
                        _result(found, names, payload.tool_call_id, result_text(payload.content))
            case _:
                pass
    return _in_order(found)


def open_calls(entries: Iterable[Message]) -> dict[str, str]:
    """Returns the calls without a result, with the names of their tools."""
    entries = list(entries)
    results = {part.payload.tool_call_id for part in _parts(entries, m.ToolResultPart)}
    calls = [part.payload for part in _parts(entries, m.ToolCallPart)]
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


def _assistant(entry: Message, found: list[Any], names: dict[str, str]) -> None:
    for part in entry.parts:
        match part:
            case m.TextPart(payload) if payload.text:
                _add(found, ai.ModelResponse, [ai.TextPart(payload.text)])
            case m.ToolCallPart(payload):
                names[payload.tool_call_id] = payload.tool_name
                call = ai.ToolCallPart(payload.tool_name, payload.arguments, payload.tool_call_id)
                _add(found, ai.ModelResponse, [call])
            case _:
                pass


def _result(found: list[Any], names: dict[str, str], call: str, text: str) -> None:
    part = ai.ToolReturnPart(tool_name=names[call], content=text, tool_call_id=call)
    _add(found, ai.ModelRequest, [part])


def _add(found: list[Any], kind: type[Any], parts: list[Any]) -> None:
    """Adds parts to the last message, if it is of the same kind, else as a new one."""
    if found and type(found[-1]) is kind:
        found[-1] = kind(parts=[*found[-1].parts, *parts])
    else:
        found.append(kind(parts=parts))


def _in_order(found: list[Any]) -> list[Any]:
    """Moves results before other parts of a request: models demand them first."""
    ordered = []
    for message in found:
        if isinstance(message, ai.ModelRequest):
            results = [part for part in message.parts if isinstance(part, ai.ToolReturnPart)]
            others = [part for part in message.parts if not isinstance(part, ai.ToolReturnPart)]
            ordered.append(ai.ModelRequest(parts=[*results, *others]))
        else:
            ordered.append(message)
    return ordered
