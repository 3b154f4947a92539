"""Which of Claude's tool calls are questions to a person."""

from __future__ import annotations

__all__ = ["is_question"]


def is_question(tool_name: str) -> bool:
    """Whether this is Claude's own AskUserQuestion, or a tool `request_input` of any MCP server."""
    return tool_name in ("AskUserQuestion", "request_input") or (
        tool_name.startswith("mcp__") and tool_name.endswith("__request_input")
    )
