"""Tells which of Claude's tool calls are questions to a person, or for the front end."""

from __future__ import annotations

__all__ = ["client_tool", "is_question"]

_OWN_TOOLS = "mcp__turnwire__"  # begins the names of tools that Turnwire itself offers to Claude


def is_question(tool_name: str) -> bool:
    """Returns whether this is AskUserQuestion, or a tool `request_input` of an MCP server."""
    return tool_name in ("AskUserQuestion", "request_input") or (
        tool_name.startswith("mcp__") and tool_name.endswith("__request_input")
    )


def client_tool(tool_name: str) -> str | None:
    """Returns the front end's own name of a tool. Returns None if the tool is not of a front end."""
    if not tool_name.startswith(_OWN_TOOLS) or is_question(tool_name):
        return None
    return tool_name.removeprefix(_OWN_TOOLS)
