"""Builds the SDK's options and the program's command line for a conversation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from turnwire.agents.claude.extensions.servers import McpServer, ToolServer
from turnwire.agents.claude.options.types import ClaudeOptions
from turnwire.agents.claude.options.validation import narrowed, read_options
from turnwire.agents.claude.process.installation import how_to_install
from turnwire.agents.claude.process.sdk_compat import MIRROR, command_of
from turnwire.agents.claude.questions.question_tools import GATE, SERVER, SERVER_CONFIG
from turnwire.core.error_codes import Refused
from turnwire.ports import AgentGone, SessionStart

if TYPE_CHECKING:
    from turnwire.agents.claude.extensions.hook_runs import Registered
    from turnwire.agents.claude.options.bounds import Bounds
    from turnwire.agents.claude.sessions.forking import ForkPoint

__all__ = [
    "MCP_CONFIG",
    "ProgramOptions",
    "chosen_in",
    "given_option",
    "own_options",
    "program_options",
    "sdk_options",
]

# Options of the SDK that are rejected, because Turnwire overrides or ignores them, and why.
_REFUSED = {
    **dict.fromkeys(
        ["can_use_tool", "permission_prompt_tool_name"], "Turnwire asks people for permission"
    ),
    **dict.fromkeys(
        [
            "continue_conversation",
            "fork_session",
            "resume",
            "resume_drops_turn",
            "resume_session_at",
            "session_id",
        ],
        "every conversation of Turnwire has a session of its own",
    ),
    **dict.fromkeys(
        ["client_app", "debug_stderr", "max_buffer_size", "stderr", "user"],
        "Turnwire starts the program itself, and this would have no effect",
    ),
    **dict.fromkeys(
        ["session_store", "verbatim_prompts"],
        "Turnwire talks to the program itself, and this would have no effect",
    ),
}


# Placeholder for the configuration of the MCP servers. Its headers and variables may be secrets,
# and every user of the machine can read a command line.
MCP_CONFIG = "<mcp-config>"
_SOURCES = ("user", "project", "local")
_LEAST_BUDGET = 1e-6  # dollars


class ProgramOptions(NamedTuple):
    """The options for the SDK's client, and the command line and MCP servers for the program."""

    client: Any  # ClaudeAgentOptions
    command: list[str]  # has MCP_CONFIG in place of `mcp_config`, or of a file with it
    mcp_config: bytes
    is_secret: bool  # `mcp_config` has to be passed as a file


def given_option(given: Any, name: str) -> Any:
    """Returns one option of a mapping or an object. Does not import the SDK, which is slow."""
    return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)


def sdk_options(given: Any, setting_sources: Sequence[str] | None = None) -> Any:
    """Returns ClaudeAgentOptions for given options of any form. Raises ValueError or TypeError."""
    made = _sdk_options(given)
    if setting_sources is None:
        return made
    strange = [each for each in setting_sources if each not in _SOURCES]
    if strange:
        raise ValueError(f"Unknown setting source {strange[0]!r}; known: {', '.join(_SOURCES)}.")
    return replace(made, setting_sources=list(setting_sources))


def _sdk_options(given: Any) -> Any:
    from claude_agent_sdk import ClaudeAgentOptions

    if given is None:
        given = {}
    if isinstance(given, ClaudeOptions):
        if given.hooks or given.mcp_servers:
            raise ValueError("Give hooks and mcp_servers to ClaudeAgent itself.")
        return narrowed(_sdk_options({}), given)
    unused = ClaudeAgentOptions()
    for name, why in _REFUSED.items():
        default = getattr(unused, name, None)
        if (given_option(given, name) or default) != default:
            raise ValueError(f"{why}: leave out {name}.")
    if isinstance(given, Mapping):
        preset = {"type": "preset", "preset": "claude_code"}
        given = ClaudeAgentOptions(**{"system_prompt": preset, **given})
    if not isinstance(given.mcp_servers, dict):
        raise ValueError("Give mcp_servers as a dict: Turnwire adds a server of its own.")
    if SERVER in given.mcp_servers:
        raise ValueError(f"Call your MCP server something else: {SERVER} is Turnwire's own.")
    return given


def chosen_in(start: SessionStart) -> ClaudeOptions:
    """Returns the options of a conversation. Raises AgentGone if they are invalid."""
    try:
        return read_options(start.options)
    except Refused as refused:
        raise AgentGone(refused.message) from refused


def own_options(
    options: Any,
    start: SessionStart,
    bounds: Bounds,
    fork: ForkPoint | None = None,
    hide: Sequence[str] = (),
) -> Any:
    """Returns the SDK's options for one conversation. Raises AgentGone if they are invalid.

    `hide` are directories that Claude's own tools must not read or change.
    """
    own = narrowed(options, chosen_in(start))
    cwd = start.cwd or options.cwd
    return replace(
        own,
        max_budget_usd=_least((own.max_budget_usd, start.max_budget_usd)),
        cwd=cwd,
        model=bounds.model_for(start.model),
        settings=_settings(own.settings, cwd, bounds, hide),
        permission_mode=bounds.mode_for(start.permission_mode),
        resume=start.native_session_id if fork is None else fork.session_id,
        fork_session=fork is not None and fork.message is not None,
        resume_session_at=None if fork is None else fork.message,
        include_partial_messages=True,
        enable_file_checkpointing=True,  # so that files can be restored
        sandbox=_strict(own.sandbox),
    )


def _settings(given: str | None, cwd: Any, bounds: Bounds, hide: Sequence[str]) -> str | None:
    """Returns the settings with the allowed models and the denied directories added.

    Without the list of models, sub-agents could use any other model. If something is added, a
    settings file is read here instead of by the program.
    """
    if bounds.models is None and not hide:
        return given
    about: dict[str, Any] = {}
    if given is not None:
        try:
            text = given if given.lstrip().startswith("{") else _text_of(given, cwd)
            about = msgspec.json.decode(text, type=dict[str, Any])
        except (OSError, ValueError) as bad:
            raise AgentGone(f"Claude cannot be started with these settings: {bad}") from bad
    if bounds.models is not None:
        models = list(dict.fromkeys([*bounds.models, *([bounds.model] if bounds.model else [])]))
        about |= {"availableModels": models, "enforceAvailableModels": True}
    if hide:
        about["permissions"] = _denied(about.get("permissions") or {}, hide)
    return msgspec.json.encode(about).decode()


def _denied(permissions: Any, hide: Sequence[str]) -> dict[str, Any]:
    """Returns the permissions with deny rules. Rules for Read and Edit cover all file tools."""
    try:
        given = msgspec.convert(permissions, dict[str, Any])
        denied = msgspec.convert(given.get("deny", []), list[str])
    except msgspec.ValidationError as bad:
        raise AgentGone(f"Claude cannot be started with these permissions: {bad}") from bad
    # A rule needs two slashes: one slash stands for the directory of the settings.
    rules = [f"{tool}(/{path}/**)" for path in hide for tool in ("Read", "Edit")]
    return {**given, "deny": [*denied, *rules]}


def _text_of(settings: str, cwd: Any) -> str:
    return (Path(cwd or "") / settings).read_text(encoding="utf-8-sig")


def _strict(sandbox: Any) -> Any:
    """Makes a missing sandbox an error, unless the options say that commands may run without it."""
    return {"failIfUnavailable": True, **sandbox} if sandbox else sandbox


def _least(limits: Iterable[float | None]) -> float | None:
    """Returns the smallest limit, but at least the smallest budget that the program accepts."""
    least = min((limit for limit in limits if limit is not None), default=None)
    return None if least is None else max(least, _LEAST_BUDGET)


def program_options(
    options: Any,
    cli: str,
    question_hook: Any,
    hooks: Mapping[str, Sequence[Registered]] | None = None,
    servers: Mapping[str, McpServer] | None = None,
    *,
    is_mirrored: bool = False,
) -> ProgramOptions:
    """Returns the options for the client, and a matching command line for the program.

    `is_mirrored`: the program repeats on its output what it writes into its transcripts.
    """
    from claude_agent_sdk import HookMatcher

    matchers = {
        event: [HookMatcher(each.matcher, [each.callback], each.seconds) for each in several]
        for event, several in (hooks or {}).items()
    }
    servers = servers or {}
    question = HookMatcher(
        GATE,
        [question_hook],
        2_000_000.0,  # seconds; about the largest timeout that the program's timers support
    )
    matchers["PreToolUse"] = [question, *matchers.get("PreToolUse", [])]
    client = replace(options, hooks=matchers)
    # The SDK's own transport builds the command line, and Turnwire uses another transport. So the
    # SDK's transport is asked for the command line that it would start.
    flags = replace(
        options,
        cli_path=cli,
        permission_prompt_tool_name="stdio",
        allowed_tools=[*options.allowed_tools, *_free_tools(servers)],
        mcp_servers=MCP_CONFIG,
    )
    configs = {
        **{name: _without_instance(each) for name, each in options.mcp_servers.items()},
        **{name: _server_config(name, server) for name, server in servers.items()},
        SERVER: SERVER_CONFIG,
    }
    is_secret = any(each.get("type") != "sdk" for each in configs.values())
    command = [*_command(flags), *([MIRROR] if is_mirrored else [])]
    return ProgramOptions(client, command, msgspec.json.encode({"mcpServers": configs}), is_secret)


def _without_instance(config: Any) -> Any:
    """Returns the configuration without the server object, which exists only in this process."""
    return {name: value for name, value in config.items() if name != "instance"}


def _server_config(name: str, server: McpServer) -> dict[str, Any]:
    return {"type": "sdk", "name": name} if isinstance(server, ToolServer) else server.told()


def _free_tools(servers: Mapping[str, McpServer]) -> list[str]:
    """Returns the names of the application's tools that need no permission."""
    return [
        f"mcp__{name}__{tool.name}"
        for name, server in servers.items()
        if isinstance(server, ToolServer)
        for tool in server.tools
        if not tool.needs_permission
    ]


def _command(options: Any) -> list[str]:
    try:
        return command_of(options)
    except (ImportError, AttributeError, TypeError) as strange:
        raise AgentGone(
            f"This version of claude-agent-sdk is too new or too old for Turnwire ({strange}). "
            f"Install the one that fits: {how_to_install()}"
        ) from strange
    except ValueError as bad:
        raise AgentGone(f"Claude cannot be started with these options: {bad}") from bad
