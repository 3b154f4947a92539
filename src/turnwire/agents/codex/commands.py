"""Slash commands and controls of Codex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from turnwire.agents.codex.app_server import AppServer
from turnwire.core import controls as c
from turnwire.core.content import Content, TextContent
from turnwire.core.error_codes import Refused
from turnwire.dialects.codex.messages import TokenUsage

__all__ = ["COMMANDS", "CONTROLS", "Command", "command_in", "run_control"]

CONTROLS = ["mcp_status", "context_usage", "models", "commands"]
"""The controls that Codex supports."""


class _About(NamedTuple):
    method: str
    description: str
    hint: str | None = None


COMMANDS = {
    "review": _About(
        "review/start", "Reviews changes", "[--base BRANCH | --commit SHA | what to review]"
    ),
    "compact": _About("thread/compact/start", "Summarizes the context, which makes it shorter"),
}
"""The slash commands, by their names."""


class Command(NamedTuple):
    """A slash command, and the parameters of its request."""

    name: str
    params: dict[str, Any]


def command_in(content: Sequence[Content]) -> Command | None:
    """Returns the command that a message is. Returns None if it is none."""
    match content:
        case [TextContent(text=text)] if text.startswith("/"):
            name, _, rest = text[1:].partition(" ")
        case _:
            return None
    if name not in COMMANDS:
        return None
    if name != "review":
        return Command(name, {})
    return Command(name, {"target": _target(rest.strip()), "delivery": "inline"})


def _target(about: str) -> dict[str, Any]:
    """Returns what a review is about, with the options of `codex review`."""
    match about.split():
        case []:
            return {"type": "uncommittedChanges"}
        case ["--base", branch]:  # the changes since it
            return {"type": "baseBranch", "branch": branch}
        case ["--commit", sha]:
            return {"type": "commit", "sha": sha}
        case _:
            return {"type": "custom", "instructions": about}


async def run_control(
    control: c.Control, server: AppServer, thread_id: str | None, usage: TokenUsage
) -> c.ControlResult:
    """Carries out a control. Raises Refused if Codex does not have it, or refuses it."""
    match control:
        case c.ListCommands():
            return c.Commands(
                [c.SlashCommand(n, each.description, each.hint) for n, each in COMMANDS.items()]
            )
        case c.ContextUsage():
            used, most = usage.last.total_tokens, usage.model_context_window
            share = round(100 * used / most, 1) if most else None
            return c.ContextUsed(used, most, share)
        case c.ListModels():
            found = await server.ask("model/list")
            return c.Models(
                [
                    c.Model(str(each.get("id")), each.get("displayName"), each.get("description"))
                    for each in found.get("data", [])
                ]
            )
        case c.McpStatus():
            found = await server.ask("mcpServerStatus/list", threadId=thread_id)
            return c.McpServers(
                [
                    c.McpServer(
                        str(each.get("name")), "connected", tools=sorted(each.get("tools") or ())
                    )
                    for each in found.get("data", [])
                ]
            )
        case _:
            raise Refused("NOT_SUPPORTED", f"Codex has no {c.name_of(control)}.")
