"""Tool calls that start sub-agents, and the scripts of their models."""

from __future__ import annotations

from turnwire.testing.model_api import ToolUse
from turnwire.testing.model_api.server import Answer

__all__ = ["Lanes", "send"]

Lanes = dict[str, list[Answer]]


def send(lane: str, call: str, *, background: bool = False) -> ToolUse:
    """Returns the call that starts a sub-agent with these words in its prompt."""
    task = {"description": lane, "prompt": f"{lane}, please", "subagent_type": "general-purpose"}
    return ToolUse("Agent", {**task, "run_in_background": background}, id=call)
