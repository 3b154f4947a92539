"""Tells which of Claude's tool calls are questions to a person."""

from __future__ import annotations

__all__ = ["is_question"]


def is_question(tool_name: str) -> bool:
    """Returns whether this is AskUserQuestion, or a tool `request_input` of an MCP server."""
    return tool_name in ("AskUserQuestion", "request_input") or (
        tool_name.startswith("mcp__") and tool_name.endswith("__request_input")
    )
