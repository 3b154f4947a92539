"""What the log tells, as UI events: the way from here to the languages of other front ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType, structs

from turnwire.core import blocks as b
from turnwire.core import ui
from turnwire.core.content import Blob, Content, FileContent, ImageContent, TextContent
from turnwire.core.lenient import salvage
from turnwire.core.status import TurnEnd
from turnwire.core.ui import UiStreamEvent
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["end_of_turn", "shown"]

_Who: TypeAlias = tuple[str, str, str | None, str | None]
_encode = msgspec.json.Encoder().encode


def shown(frame: f.Frame, provider: str, session_id: str) -> UiStreamEvent | None:
    """What a durable frame, or news that nobody keeps, is to a front end; none: nothing.

    What grows is not told here: its UI events come from the agent's own.
    """
    make = _SHOWN.get(type(frame))
    if make is None:
        return None
    payload: Any = frame.payload  # type: ignore[attr-defined]  # each of these has one
    if getattr(payload, "partial", False):
        return None
    parent = getattr(payload, "parent_tool_use_id", None)
    agent_id = getattr(payload, "agent_id", None)
    return make((provider, session_id, parent, agent_id), payload)


def end_of_turn(
    end: TurnEnd, provider: str, session_id: str, figures: ui.UiResultMessage | None = None
) -> list[UiStreamEvent]:
    """How a turn ended: the error, if there was one, and the result.

    `figures`: what the agent itself says of it, which is more than is kept. Where both speak, what
    is kept is what counts: the same to who was there and to who comes later.
    """
    who = (provider, figures.session_id if figures else session_id, None, None)
    usual = "error_during_execution" if end.is_error else "success"
    result = figures or ui.UiResultMessage(*who, usual, False, 0, 0, 0)
    reason = result.terminal_reason
    if end.interrupted and not (reason or "").startswith("aborted"):
        reason = "aborted"
    errors = result.errors
    if errors is None and end.error is not None:
        errors = [end.error.message]
    result = structs.replace(
        result,
        provider=provider,
        is_error=end.is_error,
        duration_ms=end.duration_ms or 0,
        cost_usd=end.cost_usd,
        usage=end.usage,
        stop_reason=end.stop_reason,
        terminal_reason=reason,
        errors=errors,
        structured_output=end.structured_output,
    )
    if end.error is None:
        return [result]
    return [ui.UiError(*who, end.error.message, end.error.code), result]


# --- what was said ------------------------------------------------------------------------------


def _user(who: _Who, said: p.UserWords) -> UiStreamEvent:
    origin: Any = said.origin
    return ui.UiUserMessage(*who, [_block_of(each) for each in said.content], origin)


def _block_of(content: Content) -> b.ContentBlock:
    match content:
        case TextContent(text=text, citations=citations):
            return b.TextBlock(text, "completed", citations)
        case ImageContent(mime_type=mime_type, data=data, url=url, blob=blob):
            if data is None and url is None and blob is not None:
                url = address_of(blob)
            return b.ImageBlock("completed", mime_type, data, url)
        case FileContent(path=path, mime_type=mime_type, size=size):
            return b.FileRefBlock(path, "completed", mime_type, size)
        case _:
            return b.UnknownBlock(content.original_type, content.data)


def address_of(blob: Blob) -> str:
    """Where the server has it, below its own address."""
    return f"/api/blobs/{blob.blob_id}"


def _finished(
    who: _Who,
    of: p.Chunk | p.Thinking | p.ToolCall | p.OtherBlock | p.RequestInput,
    block: b.ContentBlock,
    error: str | None = None,
) -> UiStreamEvent:
    aborted = getattr(of, "aborted", False)
    return ui.UiAssistantMessage(*who, of.message_id, of.index, [block], of.model, error, aborted)


def _chunk(who: _Who, said: p.Chunk) -> UiStreamEvent:
    block = b.TextBlock(said.text, "completed", said.citations)
    return _finished(who, said, block, said.error)


def _thinking(who: _Who, said: p.Thinking) -> UiStreamEvent:
    block = b.ThinkingBlock(said.text, "completed", said.signature, said.redacted)
    return _finished(who, said, block)


def _tool_call(who: _Who, call: p.ToolCall) -> UiStreamEvent:
    kind = call.tool_type or "UNKNOWN"
    block = b.ToolUseBlock(
        call.tool_use_id, call.tool_name, kind, call.input, "in_progress", call.input_text
    )
    return _finished(who, call, block)


def _question(who: _Who, asked: p.RequestInput) -> UiStreamEvent:
    if asked.announced:  # the call was shown already
        return ui.UiSystemMessage(*who, "input_request", _raw(asked))
    kind = asked.tool_type or "UNKNOWN"
    block = b.ToolUseBlock(
        asked.question_id, asked.tool_name, kind, asked.input, "in_progress", asks=True
    )
    return _finished(who, asked, block)


def _other(who: _Who, said: p.OtherBlock) -> UiStreamEvent:
    block: b.ContentBlock = salvage(b.ContentBlock, said.block, [])
    return _finished(who, said, block)


def _result(who: _Who, result: p.ToolResult) -> UiStreamEvent:
    return ui.UiToolComplete(
        *who, None, None, result.tool_use_id, result.content, result.is_error, result.details
    )


# --- what happened ------------------------------------------------------------------------------


def _news(who: _Who, news: p.SystemNews) -> UiStreamEvent:
    return ui.UiSystemMessage(*who, news.subtype, _raw(news.data))


def _event(subtype: str) -> Callable[[_Who, Any], UiStreamEvent]:
    """An event that is no message: for those who want to know all."""
    return lambda who, payload: ui.UiSystemMessage(*who, subtype, _raw(payload))


def _raw(data: Any) -> Raw | UnsetType:
    if isinstance(data, Raw):
        return data
    return UNSET if data is None else Raw(_encode(data))


_SHOWN: dict[type, Callable[[_Who, Any], UiStreamEvent]] = {
    f.UserMessage: _user,
    f.AssistantChunk: _chunk,
    f.AssistantThinking: _thinking,
    f.AssistantToolCall: _tool_call,
    f.AssistantRequestInput: _question,
    f.AssistantBlock: _other,
    f.AssistantToolResult: _result,
    f.SessionSystemEvent: _news,
    f.SessionState: _event("session_state"),
    f.AssistantPermissionRequest: _event("permission_request"),
    f.AssistantRequestResolved: _event("request_resolved"),
    f.ConversationInterrupted: _event("interrupted"),
    f.ConversationUpdated: _event("conversation_updated"),
}
