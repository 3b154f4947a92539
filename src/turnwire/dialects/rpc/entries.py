"""Translates the entries of the log, and the ends of turns, into RPC messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from turnwire.core import blocks as b
from turnwire.core import message as m
from turnwire.core.content import Blob, Content, FileContent, ImageContent, TextContent, content_of
from turnwire.core.event_payloads import RequestInput, event_of, news_of
from turnwire.core.events import ResultSummary
from turnwire.core.grouping import block_of, in_order
from turnwire.core.lenient import salvage
from turnwire.core.message import Message, MessagePart, Meta
from turnwire.core.status import TurnEnd
from turnwire.dialects.rpc import messages as rpc
from turnwire.dialects.rpc.bridge import to_rpc_block
from turnwire.dialects.rpc.messages import RpcBlock, RpcMessage

__all__ = ["end_of_turn", "message_of", "system_message"]

_encode = msgspec.json.Encoder().encode


def message_of(
    entry: Message, meta: Meta, number: int, provider: str, session_id: str
) -> RpcMessage:
    """Returns the message of an entry with this meta; a system message for a system event."""
    make = _BY_ROLE[entry.role]
    return make(entry.parts, meta, number, provider, session_id)


def system_message(subtype: str, data: Any, provider: str, session_id: str) -> RpcMessage:
    """Returns a system message. `data` may be encoded JSON."""
    raw: Raw | UnsetType = UNSET
    if data is not None and data is not UNSET:
        raw = data if isinstance(data, Raw) else Raw(_encode(data))
    return rpc.RpcSystemMessage(subtype, session_id, provider, raw)


def end_of_turn(
    end: TurnEnd, provider: str, session_id: str, figures: ResultSummary | None = None
) -> list[RpcMessage]:
    """Returns the messages for the end of a turn: the error, if there was one, and the result.

    `figures` are the agent's own figures, which are more than the log stores. Stored values take
    precedence, so that live clients and later clients get the same.
    """
    who = (provider, figures.session_id if figures else session_id, None, None)
    usual = "error_during_execution" if end.is_error else "success"
    told = figures or ResultSummary(*who, usual, False)
    reason = told.terminal_reason
    if end.interrupted and not (reason or "").startswith("aborted"):
        reason = "aborted"
    errors = told.errors
    if errors is None and end.error is not None:
        errors = [end.error.message]
    result = rpc.RpcResultMessage(
        told.subtype,
        end.duration_ms or 0,
        told.duration_api_ms,
        end.is_error,
        told.num_turns,
        told.session_id,
        provider,
        told.total_cost_usd,
        end.cost_usd,
        end.usage,
        told.result,
        end.stop_reason,
        reason,
        end.structured_output,
        errors,
        told.model_usage,
    )
    if end.error is None:
        return [result]
    return [rpc.RpcErrorMessage(end.error.message, provider, end.error.code), result]


# --- content ------------------------------------------------------------------------------------


def _user(
    parts: list[MessagePart], meta: Meta, number: int, provider: str, session_id: str
) -> RpcMessage:
    content = [_content(content_of(item)) for item in in_order(parts, meta.blocks)]
    return rpc.RpcUserMessage(
        rpc.RpcMessageContent(content),
        provider,
        meta.parent_tool_use_id,
        True if meta.origin in ("synthetic", "interrupt") else None,
        True if meta.origin == "replay" else None,
        agent_id=meta.agent_id,
        steered_as=meta.steered_as,
    )


def _content(content: Content) -> RpcBlock:
    match content:
        case TextContent(text=text, citations=citations):
            return rpc.RpcTextBlock(text, citations)
        case ImageContent(mime_type=mime_type, data=data, url=url, blob=blob):
            if data is None and url is None and blob is not None:
                url = _address_of(blob)
            return to_rpc_block(b.ImageBlock("completed", mime_type, data, url))
        case FileContent(path=path, mime_type=mime_type, size=size):
            return b.FileRefBlock(path, "completed", mime_type, size)
        case _:
            return b.UnknownBlock(content.original_type, content.data)


def _address_of(blob: Blob) -> str:
    """Returns the path of the blob on the server."""
    return f"/api/blobs/{blob.blob_id}"


def _said(
    parts: list[MessagePart], meta: Meta, number: int, provider: str, session_id: str
) -> RpcMessage:
    """Returns the message of a finished block or of a tool's result."""
    part = parts[0] if len(parts) == 1 and meta.blocks is None else None
    if isinstance(part, m.ToolResultPart):
        return _result(part.payload, meta, provider)
    make = _BY_PART.get(type(part))
    error: str | None = None
    aborted = meta.aborted
    if make is not None:
        block = make(part.payload)  # type: ignore[union-attr]  # each of these parts has one
        if type(part) is m.TextPart:
            error = meta.error
        elif isinstance(part, m.ToolCallPart) and part.payload.is_question:
            aborted = False
    else:
        kept: b.ContentBlock = salvage(b.ContentBlock, block_of(parts, meta.blocks)[0], [])
        block = to_rpc_block(kept)
    message_id = f"entry-{number}" if meta.message_id is None else meta.message_id
    body = rpc.RpcMessageContent([block], message_id, meta.model_id, meta.index or 0)
    return rpc.RpcAssistantMessage(
        body, provider, meta.parent_tool_use_id, error, aborted, meta.agent_id
    )


def _text(said: m.TextPayload) -> RpcBlock:
    return rpc.RpcTextBlock(said.text, said.citations)


def _thinking(said: m.ThinkingPayload) -> RpcBlock:
    return rpc.RpcThinkingBlock(said.text, said.signature, said.redacted)


def _tool_call(call: m.ToolCallPayload) -> RpcBlock:
    arguments: Any = call.arguments
    text: str | None = None
    if not call.is_question:
        if call.raw_args_text is not None or call.blob is not None:  # one of these has them
            arguments = None
        text = call.preview if call.raw_args_text is None else call.raw_args_text
    kind = call.tool_type or "UNKNOWN"
    return rpc.RpcToolUseBlock(
        call.tool_call_id, call.tool_name, kind, arguments, "in_progress", text
    )


def _result(result: m.ToolResultPayload, meta: Meta, provider: str) -> RpcMessage:
    content: Any = result.content
    if isinstance(content, list):
        content = [content_of(part) for part in content]
    block = rpc.RpcToolResultBlock(result.tool_call_id, content, result.is_error)
    body = rpc.RpcMessageContent([block])
    return rpc.RpcUserMessage(body, provider, meta.parent_tool_use_id, agent_id=meta.agent_id)


# --- events -------------------------------------------------------------------------------------


def _system(
    parts: list[MessagePart], meta: Meta, number: int, provider: str, session_id: str
) -> RpcMessage:
    event = event_of(meta, number)
    if event is None:
        return system_message(*news_of(meta), provider, session_id)
    if isinstance(event, RequestInput) and not event.announced:  # the log has no call for it
        kind = event.tool_type or "UNKNOWN"
        block = rpc.RpcToolUseBlock(
            event.question_id, event.tool_name, kind, event.input, "in_progress"
        )
        body = rpc.RpcMessageContent([block], event.message_id, event.model, event.index)
        return rpc.RpcAssistantMessage(
            body, provider, event.parent_tool_use_id, agent_id=event.agent_id
        )
    assert meta.message_type is not None  # an event always has one
    return system_message(meta.message_type, event, provider, session_id)


_Make: TypeAlias = Callable[[list[MessagePart], Meta, int, str, str], RpcMessage]

_BY_ROLE: dict[m.Role, _Make] = {
    "user": _user,
    "assistant": _said,
    "tool": _said,
    "system": _system,
}

_BY_PART: dict[type, Callable[[Any], RpcBlock]] = {
    m.TextPart: _text,
    m.ThinkingPart: _thinking,
    m.ToolCallPart: _tool_call,
}
