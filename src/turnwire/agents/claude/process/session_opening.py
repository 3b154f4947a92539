"""The parameters that one process of Claude Code is opened with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from turnwire.agents.claude.extensions.hooks import Hook
from turnwire.agents.claude.extensions.tools import Tool
from turnwire.agents.claude.options.bounds import Bounds
from turnwire.agents.claude.questions.deferred_note import Deferred
from turnwire.agents.claude.sessions.mirror import Mirror
from turnwire.agents.client_tools import ClientTool
from turnwire.ports import SessionStart

__all__ = ["Opening"]


class Opening(Struct, frozen=True, kw_only=True):
    """The engine's parameters for a session, limited by the agent's own settings."""

    start: SessionStart
    config: Path  # the directory of Claude Code's own records
    hold: float  # seconds that a question is kept in the process before it is deferred
    deferred: Deferred | None  # the question that an earlier process deferred
    names_itself: bool  # Claude makes the title from the first message
    model: str | None
    permission_mode: str | None
    hooks: Sequence[Hook]
    tools: Mapping[str, Sequence[Tool]]  # the application's tools, by server
    client_tools: Sequence[ClientTool]  # tools that the front end runs
    servers: Collection[str]  # names of all MCP servers of the process
    models: Sequence[str]  # that a person may choose
    bounds: Bounds
    most_thinking: int | None
    mirror: Mirror | None = None  # None: the program does not repeat what it writes
