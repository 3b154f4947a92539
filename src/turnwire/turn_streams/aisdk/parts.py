"""The parts of a UI message that a frame becomes: files, sources, requests and metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from turnwire.core.message import to_json
from turnwire.core.status import TurnEnd
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import payloads as p

__all__ = [
    "OURS",
    "about_block",
    "about_call",
    "end_metadata",
    "error_text",
    "file_of",
    "output_of",
    "permission_data",
    "question_data",
    "resolved_data",
    "sources_of",
]

OURS = "turnwire"  # the name of our metadata


def about_block(block: p.Chunk | p.Thinking) -> u.Metadata | None:
    """Returns what a text has besides its words: its sub-agent, its blob, and if it was cut off."""
    about: dict[str, Any] = {}
    if block.parent_tool_use_id is not None:
        about["parentToolCallId"] = block.parent_tool_use_id
    if block.aborted:
        about["aborted"] = True
    if block.blob is not None:
        about["blob"] = to_json(block.blob)
    return {OURS: about} if about else None


def about_call(call: p.ToolCall | p.PermissionAsked) -> u.Metadata | UnsetType:
    """Returns the sub-agent that a tool is called by. Returns UNSET for the agent itself."""
    parent = call.parent_tool_use_id
    return UNSET if parent is None else {OURS: {"parentToolCallId": parent}}


def sources_of(text: p.Chunk) -> list[u.Chunk]:
    """Returns the sources that a text refers to."""
    out: list[u.Chunk] = []
    for number, each in enumerate(text.citations or ()):
        source = each if isinstance(each, dict) else {}
        name = f"{text.block_id}:{number}"
        url, title = source.get("url"), source.get("title") or source.get("document_title")
        shown = title if isinstance(title, str) else None
        if isinstance(url, str):
            out.append(u.SourceUrl(name, url, shown))
        else:
            out.append(u.SourceDocument(name, "text/plain", shown or "Source"))
    return out


def file_of(block: p.OtherBlock, blob_url: Callable[[str], str]) -> u.File | None:
    """Returns an image as a file. Returns None for every other block."""
    value = block.block if isinstance(block.block, dict) else to_json(block.block)
    if not isinstance(value, dict) or value.get("type") != "image":
        return None
    media_type = value.get("mime_type") or "image/*"
    match value:
        case {"url": str(url)}:
            return u.File(url, media_type)
        case {"data": str(data)}:
            return u.File(f"data:{media_type};base64,{data}", media_type)
        case {"blob": {"blob_id": str(blob_id)}}:
            return u.File(blob_url(blob_id), media_type)
        case _:
            return None


def output_of(result: p.ToolResult) -> Any:
    """Returns the result of a tool: text if it is only text, else the content as it is."""
    content = result.content if isinstance(result.content, str) else to_json(result.content)
    match content:
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return content


def error_text(output: Any) -> str:
    """Returns the output of a tool that failed as text: JSON if it is not only text."""
    return output if isinstance(output, str) else msgspec.json.encode(output).decode()


# --- requests -------------------------------------------------------------------------------------


def question_data(asked: p.RequestInput) -> dict[str, Any]:
    """Returns the data of a question that is open."""
    return {
        "questionId": asked.question_id,
        "toolName": asked.tool_name,
        "questions": to_json(asked.questions),
        "required": asked.required,
        "inboxItemId": asked.inbox_item_id,
        "deadlineAt": asked.deadline_at,
        "parentToolCallId": asked.parent_tool_use_id,
        "state": "open",
    }


def permission_data(asked: p.PermissionAsked) -> dict[str, Any]:
    """Returns the data of a permission that is open."""
    return {
        "requestId": asked.request_id,
        "toolCallId": asked.tool_use_id,
        "toolName": asked.tool_name,
        "input": asked.input,
        "title": asked.title,
        "description": asked.description,
        "suggestions": asked.suggestions,
        "inboxItemId": asked.inbox_item_id,
        "deadlineAt": asked.deadline_at,
        "parentToolCallId": asked.parent_tool_use_id,
        "state": "open",
    }


def resolved_data(resolved: p.RequestResolved) -> dict[str, Any]:
    """Returns what the end of a request adds to its data."""
    told: dict[str, Any] = {"state": resolved.outcome, "by": resolved.by}
    if resolved.answer is not None:
        told["answer"] = resolved.answer
    if resolved.decision is not None:
        told["decision"] = resolved.decision
    if resolved.reason is not None:
        told["reason"] = resolved.reason
    return told


# --- the end --------------------------------------------------------------------------------------


def end_metadata(end: TurnEnd, turn_id: int) -> dict[str, Any]:
    """Returns the metadata of the message of an ended turn."""
    state = "interrupted" if end.interrupted else "error" if end.is_error else "ended"
    ours: dict[str, Any] = {"turnId": turn_id, "state": state, "sequence": end.after_sequence}
    if end.cost_usd is not None:
        ours["costUsd"] = end.cost_usd
    if end.error is not None:
        ours["error"] = to_json(end.error)
    return {OURS: ours}
