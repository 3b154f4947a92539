"""Validates the options of a conversation, and limits them to those of the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import msgspec
from msgspec import Struct, structs

from turnwire.agents.claude.extensions.hooks import Hook
from turnwire.agents.claude.extensions.servers import McpServer
from turnwire.agents.claude.options.bounds import Bounds
from turnwire.agents.claude.options.types import (
    Adaptive,
    ClaudeOptions,
    Disabled,
    Effort,
    Enabled,
)
from turnwire.agents.client_tools import check_client_tools
from turnwire.agents.process import allowed_directory
from turnwire.core.error_codes import Refused
from turnwire.ports import AgentGone

__all__ = ["EXTRA_ARGS", "Registry", "narrowed", "read_options", "thinking_limit"]

# Flags of the program that a conversation may set: they start no program and open no file.
EXTRA_ARGS = (
    "autocompact",
    "brief",
    "disable-slash-commands",
    "exclude-dynamic-system-prompt-sections",
)
_EFFORTS = get_args(Effort)  # in ascending order
# Fields of a new conversation that are not part of `options`.
_NOT_OPTIONS = ("cwd", "model", "permission_mode")


def read_options(given: Any) -> ClaudeOptions:
    """Parses the options of a conversation. Raises Refused, which lists the valid names."""
    if isinstance(given, ClaudeOptions):
        given = {name: getattr(given, name) for name in _set_in(given)}
    if not isinstance(given, Mapping):
        raise _refused("`options` is not a mapping of names to values")
    for name in given:
        if name in _NOT_OPTIONS:
            raise _refused(f"{name!r} is not an option: pass it outside of `options`")
        if name not in ClaudeOptions.__struct_fields__:
            known = ", ".join(sorted(ClaudeOptions.__struct_fields__))
            raise _refused(f"Claude has no option {name!r} for a conversation; it has: {known}")
    plain = {name: _plain(value) for name, value in given.items()}
    try:
        chosen = msgspec.convert(plain, ClaudeOptions)
    except msgspec.ValidationError as bad:
        raise _refused(f"`options`: {bad}") from None
    for flag in chosen.extra_args:
        if flag not in EXTRA_ARGS:
            known = ", ".join(EXTRA_ARGS)
            raise _refused(f"extra_args has {flag!r}; a conversation may have: {known}")
    for name in (
        *(*(chosen.tools or ()), *chosen.allowed_tools, *chosen.disallowed_tools),
        *(*chosen.betas, chosen.fallback_model or ""),
    ):
        if name.startswith("-"):  # on the command line it would be a flag
            raise _refused(f"{name!r} is not a valid name: it begins with a dash")
    check_client_tools(chosen.client_tools)
    return chosen


def _set_in(options: ClaudeOptions) -> Iterable[str]:
    usual = ClaudeOptions()
    names = options.__struct_fields__
    return (name for name in names if getattr(options, name) != getattr(usual, name))


def _plain(value: Any) -> Any:
    """Converts structs to plain JSON values; keeps hooks as objects."""
    match value:
        case Hook():
            return value
        case Struct():
            return msgspec.to_builtins(value)
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def _refused(why: str) -> Refused:
    return Refused("INVALID_PAYLOAD", f"{why}.")


class Registry:
    """The hooks and MCP servers of an agent, by name. A conversation can choose only from these."""

    def __init__(
        self,
        hooks: Sequence[Hook],
        servers: Mapping[str, McpServer],
        roots: Sequence[Path | str] | None,
        bounds: Bounds,
    ) -> None:
        self._bounds = bounds
        self._hooks = list(hooks)
        self._servers = servers
        self._roots = roots

    def check(self, given: Any) -> dict[str, Any]:
        """Returns the validated options of a new conversation, as JSON. Raises Refused.

        Hooks that a program passes as objects are registered by name, for the lifetime of this
        agent.
        """
        chosen = read_options(given)
        chosen = structs.replace(chosen, hooks=[self._named(each) for each in chosen.hooks])
        self.hooks(chosen, _refused)
        self.servers(chosen, _refused)
        try:
            self.check_bounds(chosen)
        except AgentGone as not_there:
            raise Refused("INVALID_PAYLOAD", not_there.message) from None
        kept: dict[str, Any] = msgspec.to_builtins(chosen)
        return kept

    def _named(self, given: Any) -> str:
        if isinstance(given, str):
            return given
        if not isinstance(given, Hook):
            raise _refused(f"{given!r} is not a hook: name one, or make one with @hook(event)")
        for known in self._hooks:
            if known.name == given.name and known.event == given.event:
                if known.run is not given.run:
                    raise _refused(f"There is another hook {given.name!r} already")
                return given.name
        self._hooks.append(structs.replace(given, optional=True))
        return given.name

    def check_bounds(
        self, chosen: ClaudeOptions, roots: Sequence[Path | str] | None = None
    ) -> None:
        """Raises AgentGone for options beyond the limits, and for a directory that is not allowed.

        A directory has to be below the agent's own roots and below `roots`, those of the server.
        """
        problem = self._bounds.problem(chosen)
        if problem is not None:
            raise AgentGone(f"{problem}.")
        for place in chosen.add_dirs:
            allowed_directory(place, self._roots)
            allowed_directory(place, roots)

    def hooks(self, chosen: ClaudeOptions, problem: Callable[[str], Exception]) -> list[Hook]:
        """Returns the hooks of a conversation, in the order in which they run."""
        _find("hook", chosen.hooks, {each.name for each in self._hooks}, problem)
        return [hook for hook in self._hooks if not hook.optional or hook.name in chosen.hooks]

    def servers(
        self, chosen: ClaudeOptions, problem: Callable[[str], Exception]
    ) -> dict[str, McpServer]:
        """Returns the MCP servers of a conversation."""
        _find("MCP server", chosen.mcp_servers, self._servers.keys(), problem)
        for helper in chosen.agents.values():
            _find("MCP server", helper.mcp_servers or [], self._servers.keys(), problem)
        return {
            name: server
            for name, server in self._servers.items()
            if not server.optional or name in chosen.mcp_servers
        }


def _find(
    what: str,
    wanted: Iterable[str],
    there: Iterable[str],
    problem: Callable[[str], Exception],
) -> None:
    known = sorted(there)
    for name in wanted:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise problem(f"Unknown {what} {name!r}; known: {listed}")


# --- within the agent's options -----------------------------------------------------------------


def narrowed(options: Any, chosen: ClaudeOptions) -> Any:
    """Returns the SDK's options of a conversation: its own choices, limited to the agent's."""
    changes: dict[str, Any] = {}
    if chosen.setting_sources is not None:
        sources = options.setting_sources  # never more than the agent's
        changes["setting_sources"] = [
            each for each in chosen.setting_sources if sources is None or each in sources
        ]
    for name in ("fallback_model", "skills"):
        _set(changes, name, getattr(chosen, name))
    if chosen.effort is not None:
        changes["effort"] = _least_effort(options, chosen.effort)
    if chosen.thinking is not None:
        changes["thinking"] = _thinking(chosen.thinking, thinking_limit(options))
    for name in ("system_prompt", "output_format", "sandbox"):
        value = getattr(chosen, name)
        _set(changes, name, msgspec.to_builtins(value) if isinstance(value, Struct) else value)
    for name in ("strict_mcp_config", "include_hook_events", "forward_subagent_text"):
        _set(changes, name, getattr(chosen, name) or None)
    for name in ("max_turns", "max_budget_usd", "max_thinking_tokens"):
        _set(changes, name, _least(getattr(options, name), getattr(chosen, name)))
    if chosen.task_budget is not None:
        total = _least((options.task_budget or {}).get("total"), chosen.task_budget)
        changes["task_budget"] = {"total": total}
    for name in ("disallowed_tools", "allowed_tools", "betas", "add_dirs"):
        if getattr(chosen, name):
            changes[name] = list(dict.fromkeys([*getattr(options, name), *getattr(chosen, name)]))
    if chosen.tools is not None:
        allowed = options.tools if isinstance(options.tools, list) else chosen.tools
        changes["tools"] = [name for name in chosen.tools if name in allowed]
    if chosen.agents:
        changes["agents"] = {**_helpers(options, chosen), **(options.agents or {})}
    if chosen.extra_args:
        changes["extra_args"] = {**chosen.extra_args, **options.extra_args}
    return replace(options, **changes)


def thinking_limit(options: Any) -> int | None:
    """Returns the agent's limit of thinking tokens, or None if there is no limit."""
    match options.thinking:
        case {"type": "disabled"}:
            return 0
        case {"type": "enabled", "budget_tokens": int(budget)}:
            return budget
        case _:
            limit: int | None = options.max_thinking_tokens
            return limit


def _thinking(wanted: Adaptive | Enabled | Disabled, limit: int | None) -> dict[str, Any]:
    """Returns a conversation's thinking option, reduced to the limit."""
    if isinstance(wanted, Disabled) or limit == 0:
        return {"type": "disabled"}
    own = wanted.budget_tokens if isinstance(wanted, Enabled) else None
    budget = _least(limit, own)
    if budget is None:
        return {"type": "adaptive"}
    return {"type": "enabled", "budget_tokens": budget}


def _set(changes: dict[str, Any], name: str, value: Any) -> None:
    if value is not None:
        changes[name] = value


def _least(agents: Any, own: Any) -> Any:
    given = [each for each in (agents, own) if each is not None]
    return min(given) if given else None


def _least_effort(options: Any, own: str) -> str:
    return min(own, options.effort or own, key=_EFFORTS.index)


def _helpers(options: Any, chosen: ClaudeOptions) -> dict[str, Any]:
    from claude_agent_sdk import AgentDefinition

    made: dict[str, Any] = {}
    for name, helper in chosen.agents.items():
        about = msgspec.to_builtins(helper)
        if helper.effort is not None:
            about["effort"] = _least_effort(options, helper.effort)
        made[name] = AgentDefinition(**about)
    return made
