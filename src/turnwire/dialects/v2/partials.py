"""Translates growing blocks into frames: pieces as they arrive, snapshots for new connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import UNSET

from turnwire.core import blocks
from turnwire.core import events as ev
from turnwire.core.growing import Growth, Piece, Void
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = ["growth_frame"]


def growth_frame(
    growth: Growth, conversation_id: str, turn_id: int | None, trace_id: str | None, now: str
) -> f.Frame:
    """Returns the frame of a piece, or of another event that is not stored."""
    return _FRAMES[type(growth)](growth, conversation_id, turn_id, trace_id, now)


# --- pieces of blocks -----------------------------------------------------------------------------


def _piece(
    piece: Piece, conversation_id: str, turn_id: int | None, trace_id: str | None, now: str
) -> f.Frame:
    return _PIECES.get(type(piece.block.block), _other)(piece, conversation_id, now)


def _text(piece: Piece, conversation_id: str, now: str) -> f.Frame:
    of = piece.block
    chunk = p.Chunk(
        of.block_id,
        of.message_id,
        of.index,
        True,
        piece.text,
        piece.number,
        of.parent,
        of.agent_id,
        piece.is_snapshot,
    )
    return f.AssistantChunk(conversation_id, of.turn_id, None, now, of.trace_id, chunk)


def _thinking(piece: Piece, conversation_id: str, now: str) -> f.Frame:
    of = piece.block
    thinking = p.Thinking(
        of.block_id,
        of.message_id,
        of.index,
        True,
        piece.text,
        piece.number,
        of.parent,
        of.agent_id,
        piece.is_snapshot,
    )
    return f.AssistantThinking(conversation_id, of.turn_id, None, now, of.trace_id, thinking)


def _tool_call(piece: Piece, conversation_id: str, now: str) -> f.Frame:
    of = piece.block
    block: Any = of.block
    call = p.ToolCall(
        of.block_id,
        of.message_id,
        of.index,
        True,
        block.id,
        block.tool_name,
        block.tool_type,
        None,
        piece.text,
        piece.number,
        of.parent,
        of.agent_id,
        piece.is_snapshot,
    )
    return f.AssistantToolCall(conversation_id, of.turn_id, None, now, of.trace_id, call)


def _other(piece: Piece, conversation_id: str, now: str) -> f.Frame:
    of = piece.block
    other = p.OtherBlock(
        of.block_id,
        of.message_id,
        of.index,
        True,
        of.block,
        piece.number,
        of.parent,
        of.agent_id,
        piece.is_snapshot,
    )
    return f.AssistantBlock(conversation_id, of.turn_id, None, now, of.trace_id, other)


_PIECES: dict[type, Callable[[Piece, str, str], f.Frame]] = {
    blocks.TextBlock: _text,
    blocks.ThinkingBlock: _thinking,
    blocks.ToolUseBlock: _tool_call,
}


# --- other events ---------------------------------------------------------------------------------


def _void(
    void: Void, conversation_id: str, turn_id: int | None, trace_id: str | None, now: str
) -> f.Frame:
    first = void.blocks[0]
    names = [block.block_id for block in void.blocks]
    payload = p.Discarded(names, void.reason, void.parent_tool_use_id, void.agent_id)
    return f.AssistantDiscarded(conversation_id, first.turn_id, None, now, first.trace_id, payload)


def _output(
    e: ev.ContentDelta, conversation_id: str, turn_id: int | None, trace_id: str | None, now: str
) -> f.Frame:
    tool_use_id = e.tool_use_id or f"{e.message_id}:{e.index}"
    output = p.ToolProgressed(tool_use_id, e.text, None, e.parent_tool_use_id, e.agent_id)
    return f.AssistantToolProgress(conversation_id, turn_id, None, now, trace_id, output)


def _progress(
    e: ev.ToolProgress, conversation_id: str, turn_id: int | None, trace_id: str | None, now: str
) -> f.Frame:
    payload = p.ToolProgressed(
        e.tool_use_id,
        e.output,
        e.elapsed_seconds,
        e.parent_tool_use_id,
        e.agent_id,
        e.tool_name,
    )
    return f.AssistantToolProgress(conversation_id, turn_id, None, now, trace_id, payload)


def _news(
    e: ev.SystemEvent, conversation_id: str, turn_id: int | None, trace_id: str | None, now: str
) -> f.Frame:
    payload = p.SystemNews(
        e.subtype,
        None,
        e.text,
        None if e.data is UNSET else e.data,
        e.provider,
        e.parent_tool_use_id,
        e.agent_id,
    )
    return f.SessionSystemEvent(conversation_id, turn_id, None, now, trace_id, payload)


_Frame: TypeAlias = Callable[[Any, str, int | None, str | None, str], f.Frame]
_FRAMES: dict[type, _Frame] = {
    Piece: _piece,
    Void: _void,
    ev.ContentDelta: _output,
    ev.ToolProgress: _progress,
    **dict.fromkeys(ev.SYSTEM_EVENTS, _news),
}
