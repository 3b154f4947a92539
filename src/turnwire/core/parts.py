"""Converts finished blocks into parts of messages."""

from __future__ import annotations

from typing import Any

import msgspec

from turnwire.core import blocks
from turnwire.core import message as m
from turnwire.core.blocks import ContentBlock
from turnwire.core.message import KeptBlock, MessagePart, to_json
from turnwire.core.usage import Usage

__all__ = ["kept_block", "part_of", "token_usage", "tool_call"]


def part_of(block: ContentBlock) -> MessagePart | None:
    """Returns a finished block as a part. Returns None if no kind of part fits."""
    match block:
        case blocks.TextBlock():
            return m.TextPart(m.TextPayload(block.text, block.citations))
        case blocks.ThinkingBlock():
            return m.ThinkingPart(
                m.ThinkingPayload(block.thinking, block.signature, block.redacted)
            )
        case blocks.ToolUseBlock():
            return m.ToolCallPart(tool_call(block))
        case blocks.ToolResultBlock():
            content = _result_content(block.content)
            return m.ToolResultPart(
                m.ToolResultPayload(block.tool_use_id, block.is_error, content, block.details)
            )
        case blocks.ImageBlock():
            return m.ImagePart(m.ImagePayload(block.mime_type or "image/*", block.data, block.url))
        case blocks.FileRefBlock():
            return m.FileRefPart(m.FileRefPayload(block.path, block.mime_type, block.size))
        case _:
            return None


def tool_call(block: blocks.ToolUseBlock) -> m.ToolCallPayload:
    """Returns a finished call as a payload. Arguments that are not an object stay text."""
    arguments, raw = block.input, block.input_text
    if not isinstance(arguments, dict):
        if arguments is not None and raw is None:
            raw = msgspec.json.encode(arguments).decode()
        arguments = {}
    asks = block.is_question or block.asks  # an explicit false is kept
    return m.ToolCallPayload(block.id, block.tool_name, arguments, raw, block.tool_type, asks=asks)


def _result_content(content: Any) -> list[MessagePart] | dict[str, Any] | str:
    """Returns a result in the form of the contract.

    A list with other items than text and images is kept.
    """
    if isinstance(content, str | dict):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        return {"value": content}
    parts = [_content_part(item) for item in content]
    fitting = [part for part in parts if part is not None]
    return fitting if len(fitting) == len(parts) else {"blocks": content}


def _content_part(item: Any) -> MessagePart | None:
    """Returns an item of a result (Messages API or MCP) as a part. Returns None if no part fits."""
    match item:
        case {"type": "text", "text": str(text)} if len(item) == 2:
            return m.TextPart(m.TextPayload(text))
        case {
            "type": "image",
            "source": {"type": "base64", "media_type": str(mime), "data": str(data), **more},
        } if len(item) == 2 and not more:
            return m.ImagePart(m.ImagePayload(mime, data))
        case {"type": "image", "source": {"type": "url", "url": str(url), **more}} if (
            len(item) == 2 and not more
        ):
            return m.ImagePart(m.ImagePayload("image/*", None, url))
        case {"type": "image", "data": str(data), "mimeType": str(mime)} if len(item) == 3:
            return m.ImagePart(m.ImagePayload(mime, data))
        case _:
            return None


def kept_block(position: int, block: ContentBlock) -> KeptBlock:
    """Returns a block that no part can represent, unchanged."""
    return KeptBlock(position, to_json(block))


def token_usage(usage: Usage) -> m.TokenUsage:
    """Returns the usage of a model message in the form of the contract."""
    read, written = usage.input_tokens or 0, usage.output_tokens or 0
    cache_read, cache_written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
    total = read + written + (cache_read or 0) + (cache_written or 0)
    return m.TokenUsage(read, written, total, cache_read, cache_written)
