"""What one process of Claude Code is opened with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from turnwire.agents.claude.extensions.hooks import Hook
from turnwire.agents.claude.extensions.tools import Tool
from turnwire.agents.claude.options.bounds import Bounds
from turnwire.agents.claude.questions.deferred_note import Deferred
from turnwire.ports import SessionStart

__all__ = ["Opening"]


class Opening(Struct, frozen=True, kw_only=True):
    """What the engine wants, within what the agent allows."""

    start: SessionStart
    hold: float  # seconds that a question is kept in the process before it is deferred
    deferred: Deferred | None  # a question, by a process before this one
    names_itself: bool  # by its first message
    model: str | None
    permission_mode: str | None
    hooks: Sequence[Hook]
    tools: Mapping[str, Sequence[Tool]]  # of the application, by server
    servers: Collection[str]  # all MCP servers that the process is told of
    models: Sequence[str]  # that may be chosen
    bounds: Bounds
    most_thinking: int | None
