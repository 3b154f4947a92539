"""Translates Claude's blocks into unified blocks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from turnwire.core import blocks as unified
from turnwire.core.blocks import ContentBlock, Status
from turnwire.dialects.claude import blocks as claude
from turnwire.dialects.claude.questions import client_tool, is_question

__all__ = ["tool_type", "unify", "unify_all"]

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")


def tool_type(name: str) -> str:
    """Returns the category for front ends: `Read` -> `CLAUDE_READ`, `mcp__x__y` -> `MCP`."""
    if name.startswith("mcp__"):
        return "MCP"
    return "CLAUDE_" + _WORD.sub("_", name).upper()


@lru_cache(maxsize=1024)
def _about(name: str) -> tuple[str, str, bool | None]:
    """Returns the name and the category of a tool, and whether its calls are questions.

    True: they are. False: the front end runs the tool, and answers with its result. None: no.
    """
    own = client_tool(name)
    return (
        (name, tool_type(name), is_question(name) or None) if own is None else (own, "TOOL", False)
    )


def unify(block: claude.ClaudeBlock, status: Status = "completed") -> ContentBlock:
    """Translates one block. A tool call is in progress until its result."""
    return _TRANSLATIONS[type(block)](block, status)


def unify_all(
    content: str | list[claude.ClaudeBlock] | None, details: Raw | UnsetType = UNSET
) -> list[ContentBlock]:
    """Translates the content of a finished message.

    A frame has `details` only once, so they are used only in a frame with a single result.
    """
    if content is None:
        return []
    if isinstance(content, str):
        return [unified.TextBlock(content, "completed")]
    if len(content) == 1:  # usually a frame has one block
        (only,) = content
        if type(only) is claude.ToolResultBlock:
            return [_tool_result(only, "completed", details)]
        return [unify(only)]
    return [unify(block) for block in content]


def _text(block: claude.TextBlock, status: Status) -> ContentBlock:
    return unified.TextBlock(block.text, status, block.citations)


def _thinking(block: claude.ThinkingBlock, status: Status) -> ContentBlock:
    return unified.ThinkingBlock(block.thinking, status, block.signature or None)


def _redacted_thinking(block: claude.RedactedThinkingBlock, status: Status) -> ContentBlock:
    return unified.ThinkingBlock("", status, redacted=block.data)


def _tool_use(block: claude.ToolUseBlock, status: Status) -> ContentBlock:
    name, kind, asks = _about(block.name)
    return unified.ToolUseBlock(block.id, name, kind, block.input, "in_progress", None, asks)


def _mcp_tool_use(block: claude.McpToolUseBlock, status: Status) -> ContentBlock:
    _, _, asks = _about(block.name)
    return unified.ToolUseBlock(block.id, block.name, "MCP", block.input, "in_progress", None, asks)


def _tool_result(
    block: claude.ToolResultBlock, status: Status, details: Raw | UnsetType = UNSET
) -> ContentBlock:
    failed = block.is_error is True
    ended: Status = "failed" if failed else "completed"
    return unified.ToolResultBlock(block.tool_use_id, block.content, failed, ended, details)


def _server_tool_result(block: claude.ServerToolResultBlock, status: Status) -> ContentBlock:
    """Translates a result of the provider's tools, which can hold an error inside its content."""
    content = block.content
    kind = content.get("type") if isinstance(content, dict) else None
    failed = block.is_error is True or (isinstance(kind, str) and kind.endswith("_error"))
    ended: Status = "failed" if failed else "completed"
    return unified.ToolResultBlock(block.tool_use_id, content, failed, ended)


def _image(block: claude.ImageBlock, status: Status) -> ContentBlock:
    source = block.source
    if source.data is None and source.url is None:  # by a file id, or in a newer way
        return unified.UnknownBlock("image", msgspec.to_builtins(block))
    return unified.ImageBlock(status, source.media_type, source.data, source.url)


def _document(block: claude.DocumentBlock, status: Status) -> ContentBlock:
    return unified.UnknownBlock("document", msgspec.to_builtins(block))


def _unknown(block: unified.UnknownBlock, status: Status) -> ContentBlock:
    return block


_TRANSLATIONS: dict[type, Callable[[Any, Status], ContentBlock]] = {
    claude.TextBlock: _text,
    claude.ThinkingBlock: _thinking,
    claude.RedactedThinkingBlock: _redacted_thinking,
    claude.ToolUseBlock: _tool_use,
    claude.ServerToolUseBlock: _tool_use,
    claude.McpToolUseBlock: _mcp_tool_use,
    claude.ToolResultBlock: _tool_result,
    claude.WebSearchToolResultBlock: _server_tool_result,
    claude.WebFetchToolResultBlock: _server_tool_result,
    claude.CodeExecutionToolResultBlock: _server_tool_result,
    claude.BashCodeExecutionToolResultBlock: _server_tool_result,
    claude.TextEditorCodeExecutionToolResultBlock: _server_tool_result,
    claude.ToolSearchToolResultBlock: _server_tool_result,
    claude.AdvisorToolResultBlock: _server_tool_result,
    claude.McpToolResultBlock: _server_tool_result,
    claude.ImageBlock: _image,
    claude.DocumentBlock: _document,
    unified.UnknownBlock: _unknown,
}
