"""Translates the entries of the log into durable frames, the same for live sending and replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core import message as m
from turnwire.core.content import blob_of, content_of
from turnwire.core.event_payloads import (
    EventPayload,
    Interrupted,
    PermissionAsked,
    RequestInput,
    RequestResolved,
    event_of,
    news_of,
)
from turnwire.core.events import UserOrigin
from turnwire.core.grouping import block_of, in_order
from turnwire.core.lenient import salvage
from turnwire.core.message import Message, MessagePart, Meta, known_meta
from turnwire.core.questions import questions_of
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["frame_of"]

_Made: TypeAlias = tuple[type[f.Frame], Struct]  # the type of frame, and its payload


def frame_of(
    entry: Message, message_sequence: int, conversation_id: str, trace_id: str | None
) -> f.Frame:
    """Returns the durable frame of an entry. Its `sequence` is null."""
    meta = known_meta(entry)
    kind, payload = _BY_ROLE[entry.role](entry.parts, meta, message_sequence)
    made: Callable[..., f.Frame] = kind
    return made(conversation_id, meta.turn_id, None, entry.timestamp, trace_id, payload)


# --- content ------------------------------------------------------------------------------------

_ORIGINS: dict[str | None, UserOrigin] = {
    "tool": "tool",
    "synthetic": "synthetic",
    "replay": "replay",
    "interrupt": "interrupt",
    "agent": "agent",
}


def _user(parts: list[MessagePart], meta: Meta, number: int) -> _Made:
    words = p.UserWords(
        [content_of(item) for item in in_order(parts, meta.blocks)],
        number,
        meta.client_message_id,
        meta.by,
        _ORIGINS.get(meta.origin, "user"),
        meta.parent_tool_use_id,
        meta.agent_id,
        meta.steered_as,
    )
    return f.UserMessage, words


def _block(parts: list[MessagePart], meta: Meta, number: int) -> _Made:
    """Returns the frame of a finished block or of a tool's result."""
    if len(parts) == 1 and meta.blocks is None:
        make = _BY_PART.get(type(parts[0]))
        if make is not None:
            return make(parts[0].payload, meta, number)  # type: ignore[union-attr]
    return _other(parts, meta, number)


def _message_id(meta: Meta, number: int) -> str:
    return f"entry-{number}" if meta.message_id is None else meta.message_id


def _text(said: m.TextPayload, meta: Meta, number: int) -> _Made:
    message_id, index = _message_id(meta, number), meta.index or 0
    chunk = p.Chunk(
        f"{message_id}:{index}",
        message_id,
        index,
        False,
        said.text,
        None,
        meta.parent_tool_use_id,
        meta.agent_id,
        False,
        number,
        meta.aborted,
        meta.model_id,
        said.citations,
        meta.error,
        blob_of(said.blob),
    )
    return f.AssistantChunk, chunk


def _thinking(said: m.ThinkingPayload, meta: Meta, number: int) -> _Made:
    message_id, index = _message_id(meta, number), meta.index or 0
    thinking = p.Thinking(
        f"{message_id}:{index}",
        message_id,
        index,
        False,
        said.text,
        None,
        meta.parent_tool_use_id,
        meta.agent_id,
        False,
        number,
        meta.aborted,
        meta.model_id,
        said.signature,
        said.redacted,
        blob_of(said.blob),
    )
    return f.AssistantThinking, thinking


def _tool_call(call: m.ToolCallPayload, meta: Meta, number: int) -> _Made:
    if call.is_question:
        return _request_input(call, meta, number)
    is_in_other_field = call.raw_args_text is not None or call.blob is not None
    payload = p.ToolCall(
        call.tool_call_id,
        _message_id(meta, number),
        meta.index or 0,
        False,
        call.tool_call_id,
        call.tool_name,
        call.tool_type,
        None if is_in_other_field else call.arguments,
        call.preview if call.raw_args_text is None else call.raw_args_text,
        None,
        meta.parent_tool_use_id,
        meta.agent_id,
        False,
        number,
        meta.aborted,
        meta.model_id,
        blob_of(call.blob),
    )
    return f.AssistantToolCall, payload


class _Asked(Struct, frozen=True, gc=False):
    """The data about a question that its owner stored in the entry's `meta.data`."""

    required: bool = True
    metadata: dict[str, Any] | None = None
    inbox_item_id: str | None = None
    deadline_at: str | None = None


_PLAIN = _Asked()


def _request_input(call: m.ToolCallPayload, meta: Meta, number: int) -> _Made:
    asked = salvage(_Asked, meta.data, []) if isinstance(meta.data, dict) else _PLAIN
    questions = questions_of(call.arguments)
    first = questions[0] if questions else None
    payload = p.RequestInput(
        call.tool_call_id,
        first.question if first else "",
        first.options if first else [],
        asked.required,
        asked.metadata,
        asked.inbox_item_id,
        asked.deadline_at,
        questions,
        call.tool_call_id,
        _message_id(meta, number),
        meta.index or 0,
        number,
        call.tool_name,
        call.tool_type,
        call.arguments,
        meta.parent_tool_use_id,
        meta.agent_id,
        meta.model_id,
    )
    return f.AssistantRequestInput, payload


def _tool_result(result: m.ToolResultPayload, meta: Meta, number: int) -> _Made:
    content: Any = result.content
    if isinstance(content, list):
        content = [content_of(part) for part in content]
    payload = p.ToolResult(
        result.tool_call_id,
        result.is_error,
        content,
        number,
        result.details,
        blob_of(result.blob),
        blob_of(result.details_blob),
        meta.parent_tool_use_id,
        meta.agent_id,
    )
    return f.AssistantToolResult, payload


def _other(parts: list[MessagePart], meta: Meta, number: int) -> _Made:
    """Returns the frame of any other part, or of an entry in an unknown format."""
    block, blob = block_of(parts, meta.blocks)
    message_id, index = _message_id(meta, number), meta.index or 0
    payload = p.OtherBlock(
        f"{message_id}:{index}",
        message_id,
        index,
        False,
        block,
        None,
        meta.parent_tool_use_id,
        meta.agent_id,
        False,
        number,
        meta.aborted,
        meta.model_id,
        blob_of(blob),
    )
    return f.AssistantBlock, payload


# --- events -------------------------------------------------------------------------------------


def _system(parts: list[MessagePart], meta: Meta, number: int) -> _Made:
    """Returns the frame of a system event."""
    event = event_of(meta, number)
    if event is not None:
        return _EVENTS[type(event)], event
    subtype, data = news_of(meta)
    text = "".join([part.payload.text for part in parts if isinstance(part, m.TextPart)])
    news = p.SystemNews(
        subtype,
        number,
        text or None,
        data,
        meta.provider,
        meta.parent_tool_use_id,
        meta.agent_id,
    )
    return f.SessionSystemEvent, news


_EVENTS: dict[type[EventPayload], type[f.Frame]] = {
    PermissionAsked: f.AssistantPermissionRequest,
    RequestInput: f.AssistantRequestInput,
    RequestResolved: f.AssistantRequestResolved,
    Interrupted: f.ConversationInterrupted,
}

_BY_ROLE: dict[m.Role, Callable[[list[MessagePart], Meta, int], _Made]] = {
    "user": _user,
    "assistant": _block,
    "tool": _block,
    "system": _system,
}

_BY_PART: dict[type, Callable[[Any, Meta, int], _Made]] = {
    m.TextPart: _text,
    m.ThinkingPart: _thinking,
    m.ToolCallPart: _tool_call,
    m.ToolResultPart: _tool_result,
}
