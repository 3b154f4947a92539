"""Carries out controls (status, rewind, MCP servers, lists) over the program's control protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from turnwire.agents.claude.options.bounds import DEFAULT
from turnwire.agents.claude.options.mcp_toggles import Switches
from turnwire.agents.claude.questions.question_tools import SERVER
from turnwire.agents.claude.turn.prompts import prompt_uuid
from turnwire.core import controls as c
from turnwire.core.error_codes import Refused
from turnwire.dialects.claude import answers, control
from turnwire.ports import AgentGone

__all__ = ["Send", "run_control", "set_switches"]

Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any]]  # raises Refused or AgentGone


async def run_control(
    asked: c.Control,
    send: Send,
    about: answers.InitializeAnswer,
    *,
    switches: Switches,
    models: Sequence[str],
    default: str | None = None,
) -> c.ControlResult:
    """Sends a control to the program, and returns its answer as a ControlResult.

    `about` is the program's answer to the handshake. `models` are the names that may be chosen.
    `default` is the model that the name `default` stands for; None: the program's own.
    """
    match asked:
        case c.RewindFiles(turn_uuid=turn_uuid, dry_run=dry_run):
            return await _rewind(prompt_uuid(turn_uuid), send, dry_run=dry_run)
        case c.McpStatus():
            return switches.told(await _status(send))
        case c.McpReconnect(server=server):
            await send(_line(control.McpReconnect(server)))
            return c.Done()
        case c.McpToggle(server=server, enabled=enabled):
            if server == SERVER and not enabled:
                said = f"{SERVER} cannot be switched off: Claude asks people through it."
                raise Refused("INVALID_PAYLOAD", said)
            await switches.switch(server, partial(_toggle, send), enabled=enabled)
            return c.Done()
        case c.StopTask(task_id=task_id):
            await send(_line(control.StopTask(task_id)))
            return c.Done()
        case c.ContextUsage():
            return _context(await _ask(control.GetContextUsage(), answers.ContextUsageAnswer, send))
        case c.ListModels():
            known = {
                each.value: c.Model(
                    each.value, each.display_name, each.description, each.resolved_model
                )
                for each in about.models
            }
            if default is not None:
                meant = known.get(default, c.Model(default))
                known[DEFAULT] = c.Model(DEFAULT, resolved=meant.resolved or default)
            return c.Models([known.get(name, c.Model(name)) for name in models])
        case c.ListSessionOptions() | c.SetSessionOption():
            raise Refused("NOT_SUPPORTED", f"Claude has no {c.name_of(asked)}.")
        case c.ListCommands():
            return c.Commands(
                [
                    c.SlashCommand(each.name, each.description, each.argument_hint or None)
                    for each in about.commands
                ]
            )


async def set_switches(switches: Switches, send: Send) -> None:
    """Switches the program's MCP servers on and off as in this conversation."""
    await switches.begin(await _status(send), partial(_toggle, send))


async def _status(send: Send) -> c.McpServers:
    status = await _ask(control.McpStatus(), answers.McpStatusAnswer, send)
    return c.McpServers([_server(each) for each in status.mcp_servers])


async def _toggle(send: Send, server: str, enabled: bool) -> None:
    await send(_line(control.McpToggle(server, enabled)))


async def _rewind(user_message_id: str, send: Send, *, dry_run: bool) -> c.Rewound:
    """Restores the files from before a message.

    The program reports which files it would restore, but not which it has restored. So it is asked
    before and after: files that it would still restore have failed.
    """
    would = control.RewindFiles(user_message_id, dry_run=True)
    files = (await _rewinds(would, send)).files_changed
    if dry_run:
        return c.Rewound(files)
    await _rewinds(control.RewindFiles(user_message_id), send)
    try:
        failed = (await _rewinds(would, send)).files_changed
    except (Refused, AgentGone):  # the files were restored, and the log has to say so
        failed = []
    return c.Rewound([file for file in files if file not in failed], failed)


async def _rewinds(request: control.RewindFiles, send: Send) -> answers.RewindFilesAnswer:
    answer: answers.RewindFilesAnswer = await _ask(request, answers.RewindFilesAnswer, send)
    if answer.can_rewind is False:
        why = answer.error or "Claude Code cannot restore these files."
        said = f"{why} Only files that Claude itself wrote since this message can be restored."
        raise Refused("NOT_SUPPORTED", said)
    return answer


async def _ask(request: Struct, answer: type[Any], send: Send) -> Any:
    return msgspec.convert(await send(_line(request)), answer)


def _line(request: Struct) -> dict[str, Any]:
    asked: dict[str, Any] = msgspec.to_builtins(request)
    return asked


def _server(told: Any) -> c.McpServer:
    """Returns the status of a server without its configuration, which may contain secrets."""
    told = told if isinstance(told, dict) else {}
    tools = [str(tool.get("name")) for tool in told.get("tools") or [] if isinstance(tool, dict)]
    name = str(told.get("name"))
    return c.McpServer(
        name,
        str(told.get("status")),
        told.get("error"),
        told.get("transport"),
        tools,
        fixed=name == SERVER,
    )


def _context(told: answers.ContextUsageAnswer) -> c.ContextUsed:
    parts = [c.ContextPart(each.name, each.tokens, each.kind) for each in told.categories]
    total = told.total_tokens or 0
    return c.ContextUsed(total, told.max_tokens, told.percentage, told.model, parts)
