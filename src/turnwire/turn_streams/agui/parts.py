"""The parts of AG-UI events: requests, results, usage and what a person has sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from turnwire.core.content import Content, FileContent, ImageContent, TextContent
from turnwire.core.events import Question
from turnwire.core.message import to_json
from turnwire.core.status import OpenRequest, QueueItem, TurnEnd
from turnwire.core.usage import Usage
from turnwire.dialects.agui import events as e
from turnwire.dialects.agui.messages import AguiMessage
from turnwire.dialects.v2 import payloads as p

__all__ = [
    "OURS",
    "about_block",
    "arguments_of",
    "end_metadata",
    "interrupt_of",
    "is_client_tool",
    "queued_message",
    "result_text",
    "same_json",
    "text_of",
    "usage_of",
    "user_message",
]

OURS = "turnwire"  # the name of our metadata, and of our part of the state

# --- blocks and results ---------------------------------------------------------------------------


def about_block(block: p.Chunk | p.Thinking | p.ToolCall) -> dict[str, Any] | None:
    """Returns what a block has besides its text: its sources, its blob, and if it was cut off."""
    about: dict[str, Any] = {}
    if block.aborted:
        about["aborted"] = True
    if block.blob is not None:
        about["blob"] = to_json(block.blob)
    if isinstance(block, p.Chunk) and block.citations:
        about["citations"] = to_json(block.citations)
    return {OURS: about} if about else None


def arguments_of(call: p.ToolCall | p.RequestInput | p.PermissionAsked) -> str:
    """Returns the arguments of a finished call, as JSON text."""
    if isinstance(call, p.ToolCall) and call.input_text is not None:
        return call.input_text
    return msgspec.json.encode(call.input).decode()


def same_json(sent: str, text: str) -> bool:
    """Returns whether two texts are the same JSON value, or the same text."""
    if sent == text:
        return True
    try:
        return bool(msgspec.json.decode(sent) == msgspec.json.decode(text))
    except msgspec.DecodeError:
        return False


def result_text(result: p.ToolResult) -> str:
    """Returns the result of a tool: its text, or the content as JSON if it is not only text."""
    content = result.content if isinstance(result.content, str) else to_json(result.content)
    match content:
        case str():
            return content
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return msgspec.json.encode(content).decode()


# --- requests -------------------------------------------------------------------------------------


def interrupt_of(asked: OpenRequest) -> e.Interrupt:
    """Returns a question or a permission that waits for a person."""
    is_question = asked.kind == "question"
    first = asked.questions[0].question if asked.questions else None
    return e.Interrupt(
        asked.request_id,
        "input_required" if is_question else "tool_call",
        first if is_question else asked.title or asked.description or asked.tool_name,
        asked.tool_use_id,
        _answers(asked.questions) if is_question else _decisions(asked),
        asked.deadline_at,
        asked.parent_tool_use_id,
        {OURS: to_json(asked)},
    )


def is_client_tool(asked: OpenRequest) -> bool:
    """Returns whether the front end has to answer, and not a person: it runs the tool itself."""
    return bool((asked.metadata or {}).get("client_tool"))


def _decisions(asked: OpenRequest) -> dict[str, Any]:
    """Returns the schema of a decision: only what the agent of the request can take."""
    properties: dict[str, Any] = {"approved": {"type": "boolean"}}
    if not asked.decision_only:
        properties |= {"reason": {"type": "string"}, "editedArgs": {"type": "object"}}
    if asked.suggestions:
        rules: dict[str, Any] = {"type": "array", "items": {"enum": to_json(asked.suggestions)}}
        if asked.decision_only:
            rules["maxItems"] = 1
        properties |= {"always": {"type": "boolean"}, "remember": rules}
    return {"type": "object", "properties": properties, "required": ["approved"]}


def _answers(questions: list[Question]) -> dict[str, Any]:
    """Returns the schema of an answer: a text for each question, by its id."""
    properties: dict[str, Any] = {}
    for each in questions:
        one: dict[str, Any] = {"type": "string"}
        if each.options:
            one["examples"] = [option.label for option in each.options]
        asked = {"type": "array", "items": one} if each.multi else one
        properties[each.id] = {"title": each.question, **asked}
    return {"type": "object", "properties": properties}


# --- what people have sent ------------------------------------------------------------------------


def text_of(content: list[Content]) -> str:
    """Returns the text of a message."""
    return "\n".join(part.text for part in content if isinstance(part, TextContent))


def user_message(words: p.UserWords, blob_url: Callable[[str], str]) -> AguiMessage:
    """Returns a message of a person."""
    name = words.client_message_id or f"message-{words.message_sequence}"
    return {"id": name, "role": "user", "content": _content(words.content, blob_url)}


def queued_message(item: QueueItem, blob_url: Callable[[str], str]) -> AguiMessage:
    """Returns a message that waits for its turn."""
    name = item.client_message_id or item.queue_id
    return {"id": name, "role": "user", "content": _content(item.content, blob_url)}


def _content(content: list[Content], blob_url: Callable[[str], str]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, TextContent) for part in content):
        return text_of(content)
    return [_part(part, blob_url) for part in content]


def _part(content: Content, blob_url: Callable[[str], str]) -> dict[str, Any]:
    match content:
        case TextContent():
            return {"type": "text", "text": content.text}
        case ImageContent() | FileContent():
            kind = "image" if isinstance(content, ImageContent) else "document"
            media_type = content.mime_type or "application/octet-stream"
            source = {"type": "url", "mimeType": media_type}
            if content.blob is not None:
                source["value"] = blob_url(content.blob.blob_id)
            elif isinstance(content, FileContent):
                source["value"] = content.path
            elif content.data is not None:
                source |= {"type": "data", "value": content.data}
            else:
                source["value"] = content.url or ""
            return {"type": kind, "source": source}
        case _:
            return {"type": "text", "text": f"[{content.original_type}]"}


# --- the end --------------------------------------------------------------------------------------


def usage_of(usage: Usage | None) -> list[e.TokenUsage] | None:
    """Returns the tokens of a turn. AG-UI counts those of a cache as read."""
    if usage is None:
        return None
    read, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    total = (usage.input_tokens or 0) + (read or 0) + (written or 0)
    out = usage.output_tokens or 0
    return [e.TokenUsage(total, out, total + out, read, written)]


def end_metadata(end: TurnEnd, turn_id: int | None) -> dict[str, Any]:
    """Returns the metadata of the end of a run."""
    ours: dict[str, Any] = {"sequence": end.after_sequence, "turnId": turn_id}
    if end.cost_usd is not None:
        ours["costUsd"] = end.cost_usd
    if end.interrupted:
        ours["interrupted"] = True
    if end.stop_reason is not None:
        ours["stopReason"] = end.stop_reason
    return {OURS: ours}
