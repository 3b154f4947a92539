"""Slash commands and controls of Codex."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from turnwire.agents.codex.app_server import AppServer
from turnwire.agents.codex.settings import split_model
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


# The state of an MCP server, as other agents name it.
_MCP_STATES = {
    "authenticationRequired": "needs-auth",
    "cancelled": "failed",
    "notStarted": "pending",
    "starting": "pending",
}


async def run_control(
    control: c.Control,
    server: AppServer,
    thread_id: str | None,
    usage: TokenUsage,
    models: Sequence[str],
    default: str | None,
) -> c.ControlResult:
    """Carries out a control. Raises Refused if Codex does not have it, or refuses it.

    `models` are those that may be chosen, and `default` is the model of the configuration.
    """
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
            listed = await _listed(server, "model/list")
            known = {str(each.get("model") or each.get("id")): each for each in listed}
            return c.Models([_model(name, known, default) for name in models])
        case c.McpStatus():
            servers = await _listed(server, "mcpServerStatus/list", threadId=thread_id)
            return c.McpServers([_mcp_server(each) for each in servers])
        case _:
            raise Refused("NOT_SUPPORTED", f"Codex has no {c.name_of(control)}.")


async def _listed(server: AppServer, method: str, **params: Any) -> list[dict[str, Any]]:
    """Returns a list of Codex, all its pages."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await server.ask(method, cursor=cursor, **params)
        found += page.get("data") or []
        cursor = page.get("nextCursor")
        if not cursor:
            return found


def _model(choice: str, known: dict[str, dict[str, Any]], default: str | None) -> c.Model:
    """Returns a model that may be chosen, with what Codex says about it."""
    model, effort = split_model(choice)
    about = known.get(model or default or "", {})
    name = about.get("displayName")
    if name and effort:
        name = f"{name}, {effort}"
    resolved = default if model is None else None
    return c.Model(choice, name, about.get("description"), resolved)


def _mcp_server(told: dict[str, Any]) -> c.McpServer:
    """Returns an MCP server. Its state is unknown while Codex does not say it."""
    error = told.get("toolsError")
    state = told.get("runtimeStatus")
    if state is None:
        state = "failed" if error else "connected" if told.get("tools") else "unknown"
    tools = sorted(told.get("tools") or ())
    return c.McpServer(str(told.get("name")), _MCP_STATES.get(state, state), error, tools=tools)
