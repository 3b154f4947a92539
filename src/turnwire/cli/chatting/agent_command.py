"""The command `/agent NAME` of a chat: another agent speaks from the next turn on."""

from __future__ import annotations

import re

__all__ = ["chosen_agent"]

_COMMAND = re.compile(r"\s*/agent\s+(\S+)\s*")


def chosen_agent(text: str) -> str | None:
    """Returns the agent that a line chooses. Returns None if the line is a message."""
    found = _COMMAND.fullmatch(text)
    return None if found is None else found[1]
