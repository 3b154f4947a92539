"""Converts server frames into the blocks and messages of the view."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from turnwire.core.content import Content, TextContent
from turnwire.core.view import (
    BlockStatus,
    BlockView,
    EventView,
    MessageView,
    OtherView,
    TextView,
    ThinkingView,
    ToolView,
)
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p

__all__ = [
    "Block",
    "about",
    "interruption",
    "news",
    "other",
    "question",
    "text",
    "thinking",
    "tool_call",
    "user_message",
]

Block: TypeAlias = p.Chunk | p.Thinking | p.ToolCall | p.OtherBlock


# --- blocks -------------------------------------------------------------------------------------


def text(block: p.Chunk) -> TextView:
    """Returns the text of a finished block or of a snapshot."""
    return TextView(block.block_id, _status(block), block.text, block.citations, block.blob)


def thinking(block: p.Thinking) -> ThinkingView:
    """Returns the reasoning of a finished block or of a snapshot."""
    return ThinkingView(
        block.block_id, _status(block), block.text, block.signature, block.redacted, block.blob
    )


def tool_call(block: p.ToolCall, input_text: str | None) -> ToolView:
    """Returns a tool call with this text of its input."""
    return ToolView(
        block.tool_use_id,
        _status(block),
        block.tool_name,
        block.tool_type,
        block.input,
        input_text,
        blob=block.blob,
    )


def other(block: p.OtherBlock) -> OtherView:
    """Returns any other block."""
    return OtherView(block.block_id, _status(block), block.block, block.blob)


def question(asked: p.RequestInput) -> ToolView:
    """Returns the tool call that asks the question."""
    return ToolView(asked.question_id, "complete", asked.tool_name, asked.tool_type, asked.input)


def _status(block: Block) -> BlockStatus:
    if block.partial:
        return "streaming"
    return "aborted" if block.aborted else "complete"


def about(
    frame: f.Frame,
    block: Block | p.RequestInput,
    number: int | None = None,
    error: str | None = None,
) -> MessageView:
    """Returns an empty message with the attributes that the frame tells."""
    return MessageView(
        block.message_id,
        "assistant",
        [],
        False,
        frame.turn_id,
        number,
        frame.timestamp if number is not None else None,
        block.model,
        error,
        None,
        None,
        None,
        block.parent_tool_use_id,
        block.agent_id,
    )


# --- complete messages --------------------------------------------------------------------------


def user_message(frame: f.UserMessage) -> MessageView:
    """Returns a message to the agent."""
    said = frame.payload
    name = f"user-{said.message_sequence}"
    return MessageView(
        name,
        "user",
        [_content(f"{name}:{i}", content) for i, content in enumerate(said.content)],
        False,
        frame.turn_id,
        said.message_sequence,
        frame.timestamp,
        origin=None if said.origin == "user" else said.origin,
        by=said.by,
        client_message_id=said.client_message_id,
        parent_tool_use_id=said.parent_tool_use_id,
        agent_id=said.agent_id,
        steered=said.steered_as is not None,
    )


def _content(block_id: str, content: Content) -> BlockView:
    if isinstance(content, TextContent):
        return TextView(block_id, "complete", content.text, content.citations, content.blob)
    return OtherView(block_id, "complete", content)


def news(frame: f.SessionSystemEvent, number: int) -> MessageView:
    """Returns an event about the session."""
    told, name = frame.payload, f"event-{number}"
    event = EventView(f"{name}:0", "complete", "system", told.subtype, told.text, told.data)
    return MessageView(
        name,
        "system",
        [event],
        False,
        frame.turn_id,
        number,
        frame.timestamp,
        parent_tool_use_id=told.parent_tool_use_id,
        agent_id=told.agent_id,
    )


def interruption(frame: f.ConversationInterrupted) -> MessageView:
    """Returns the event of an interrupted turn."""
    number = frame.payload.message_sequence
    name, data = f"event-{number}", msgspec.to_builtins(frame.payload)
    del data["message_sequence"]
    event = EventView(f"{name}:0", "complete", "interrupted", data=data)
    return MessageView(name, "system", [event], False, frame.turn_id, number, frame.timestamp)
