"""Finds the front end's tools among the calls of an agent, which calls them over MCP.

An agent names such a tool in its own way, always with the name of the server before that of the
tool: `turnwire_paint` (opencode), `mcp__turnwire__paint`, `turnwire: paint`, `Tool: turnwire/paint`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["ClientTools"]

_OTHER = re.compile(r"[^A-Za-z0-9]+")
_BEFORE = re.compile(r"^(?:(?:mcp|tool)_)+", re.IGNORECASE)
_NUMBER = re.compile(r"-\d[\d-]*$")  # some ids are the name of the tool and a number


class ClientTools:
    """The names of the front end's tools, and of the MCP server that has them."""

    def __init__(self, server: str, names: Iterable[str]) -> None:
        self._tools: dict[str, list[str]] = {}  # by the name that an agent may use
        for name in names:
            self._tools.setdefault(_plain(f"{server}_{name}"), []).append(name)

    def named(self, *texts: str | None) -> str | None:
        """Returns the tool that one of these texts names, or None."""
        for text in texts:
            if text is None:
                continue
            found = self._tools.get(_plain(text)) or self._tools.get(_plain(_NUMBER.sub("", text)))
            if found:  # `a-b` and `a_b` look the same to some agents
                return max(found, key=lambda name: name in text)
        return None


def _plain(text: str) -> str:
    return _BEFORE.sub("", _OTHER.sub("_", text))
