"""Names of tools that ask a person: only for calls that do not say themselves whether they ask."""

from __future__ import annotations

__all__ = ["asked_by_name"]


def asked_by_name(tool_name: str) -> bool:
    """Whether a call of this tool is a question to a person rather than work.

    Calls in logs and frames of earlier versions do not say it, nor need a call of `request_input`.
    """
    return tool_name in ("request_input", "AskUserQuestion") or (
        tool_name.startswith("mcp__") and tool_name.endswith("__request_input")
    )
