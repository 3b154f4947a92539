"""The names of tools that ask a person, for calls that do not say whether they ask."""

from __future__ import annotations

__all__ = ["asked_by_name"]


def asked_by_name(tool_name: str) -> bool:
    """Returns whether a call of this tool is a question to a person, by the tool's name.

    Calls in logs and frames of earlier versions do not say it. A call of `request_input` need not.
    """
    return tool_name in ("request_input", "AskUserQuestion") or (
        tool_name.startswith("mcp__") and tool_name.endswith("__request_input")
    )
