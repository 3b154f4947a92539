"""Finds agents by name. Imports an agent only for its first use, so unused agents cost nothing."""

from __future__ import annotations

import difflib
import inspect
import shutil
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from turnwire.agents.module_hint import full_name
from turnwire.errors import TurnwireError
from turnwire.ports import Agent, AgentCapabilities, AgentGone, AgentSession, SessionStart

__all__ = [
    "MissingAgent",
    "UnknownAgent",
    "chosen",
    "default",
    "find",
    "make",
    "missing_programs",
    "name_of",
    "names",
]

_AGENTS = {
    "claude": "turnwire.agents.claude:ClaudeAgent",
    "codex": "turnwire.agents.codex:CodexAgent",
    "demo": "turnwire.agents.demo:DemoAgent",
    "replay": "turnwire.agents.replay:ReplayAgent",
}
# Agents of the Agent Client Protocol. Each is listed where its program is installed.
_ACP = ("copilot", "gemini", "goose", "opencode", "qwen")
_ACP_AGENT = "turnwire.agents.acp:AcpAgent"


class UnknownAgent(TurnwireError):
    """Raised if an agent does not exist or cannot be made. The message says which agents exist."""

    code = "INVALID_PAYLOAD"


def names() -> list[str]:
    """Returns the names of Turnwire's own agents, and of known programs that are installed."""
    return sorted([*_AGENTS, *(name for name in _ACP if shutil.which(name))])


def missing_programs() -> list[str]:
    """Returns the names of known programs that are not installed. `make` accepts them, too."""
    return [name for name in _ACP if not shutil.which(name)]


def make(name: str, **options: Any) -> Agent:
    """Makes an agent from its name or `module:attribute`, with its own options.

    The attribute is an agent, or a class or function that makes one. Raises UnknownAgent if the agent cannot be imported or made.
    """
    where = name if ":" in name else _AGENTS.get(name)
    if where is None and (name in _ACP or "command" in options):
        where, options = _ACP_AGENT, {"name": name, **options}
    if where is None:
        absent = missing_programs()
        more = f" Not installed: {', '.join(absent)}." if absent else ""
        if full := full_name(name):
            more += f" There is a module {name!r}: name its agent as {full}."
        raise UnknownAgent(f"There is no agent {name!r}; there is: {', '.join(names())}.{more}")
    module, _, attribute = where.partition(":")
    try:
        maker = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        step = "Name one that is installed or in this directory, as module:attribute."
        step = step if ":" in name else ""
        said = f"The agent {name!r} cannot be imported: {error}. {step}"
        raise UnknownAgent(said.rstrip()) from error
    _check_names(name, maker, options)
    try:
        agent: Agent = maker if _is_made(maker, options) else maker(**options)
    except (TypeError, ValueError) as error:
        raise UnknownAgent(f"The agent {name!r} cannot be made: {error}.") from error
    if not hasattr(agent, "capabilities"):
        raise UnknownAgent(f"{name!r} is no agent. Name a class that implements the agent port.")
    return agent


def _check_names(name: str, maker: Any, options: Mapping[str, Any]) -> None:
    """Raises UnknownAgent if an agent has no option of a given name."""
    if not options or not callable(maker):
        return
    try:
        known = inspect.signature(maker).parameters
    except (TypeError, ValueError):  # written in C
        return
    if any(each.kind is each.VAR_KEYWORD for each in known.values()):
        return
    there = [each for each in known if each != "name"]
    for option in options:
        if option not in known:
            near = difflib.get_close_matches(option, there, 1)
            hint = f"Did you mean {near[0]}? " if near else ""
            listed = ", ".join(there) or "none"
            said = f"The agent {name!r} has no option {option!r}. {hint}Its options: {listed}."
            raise UnknownAgent(said)


def _is_made(found: Any, options: Mapping[str, Any]) -> bool:
    """Returns whether this is an agent, such as an `@agent` function, and not what makes one."""
    return not callable(found) and hasattr(found, "capabilities") and not options


def name_of(given: str, agent: Agent) -> str:
    """Returns the name under which conversations store an agent that was requested as `given`."""
    return agent.name if ":" in given else given


def find(
    name: str,
    known: Sequence[str] = (),
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Agent:
    """Returns the agent of a conversation: one of Turnwire's own, one of `known`, or one of `options`.

    `known` are agents as `module:attribute`. `options` holds the options of each agent; a `command`
    among them makes an agent of that name. Raises UnknownAgent if no agent has this name.
    """
    given = options or {}
    for where in known:
        if ":" in where and (agent := make(where, **given.get(where, {}))).name == name:
            return agent
    own = given.get(name, {})
    is_known = name in _AGENTS or name in _ACP or "command" in own
    if not is_known:  # a stored name must never import a module
        raise UnknownAgent(
            f"This conversation is with {name!r}, which is none of Turnwire's own agents. Say where "
            "it is: TURNWIRE_AGENT=module:attribute."
        )
    return make(name, **own)


def default(options: Mapping[str, Mapping[str, Any]] | None = None) -> tuple[str, str | None]:
    """Returns the default agent: `claude` if it is available, else `demo` and the reason.

    `options` holds the options of each agent, by agent name. They may contain a credential.
    """
    why = make("claude", **(options or {}).get("claude", {})).unavailable()
    return ("claude", None) if why is None else ("demo", why)


def chosen(
    wanted: Sequence[str], usual: str, options: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[dict[str, Agent], str]:
    """Returns the agents of a server by their own names, and the name of the default agent.

    `wanted` lists names or `module:attribute`; an empty list means all of Turnwire's own agents.
    `usual` is the default agent; it is added if `wanted` does not contain it. `options` holds the
    options of each agent. Raises UnknownAgent if a requested agent cannot be made.
    """
    agents: dict[str, Agent] = {}
    own_names: dict[str, str] = {}
    given = dict(options or {})
    own = [name for name, given_to in given.items() if "command" in given_to]
    for name in wanted or dict.fromkeys([*names(), *own]):
        is_asked_for = bool(wanted) or name in given
        try:
            agent = make(name, **given.pop(name, {}))
        except UnknownAgent as missing:
            if is_asked_for:
                raise
            agent = MissingAgent(name, missing.message)
        own_names[name] = name_of(name, agent)
        agents[own_names[name]] = agent
    if ":" in usual and usual not in own_names:
        agent = make(usual, **given.pop(usual, {}))
        own_names[usual] = agent.name
        agents[agent.name] = agent  # replaces an own agent of that name: this one was chosen
    if given:
        there = ", ".join(sorted(own_names))
        raise UnknownAgent(f"agent_options are for {min(given)!r}; there is: {there}.")
    return agents, own_names.get(usual, usual)


class MissingAgent:
    """Stands for an agent that cannot be imported. Clients see it listed, with the reason."""

    capabilities = AgentCapabilities()

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._why = why

    def unavailable(self) -> str | None:
        """Returns the reason of the import error."""
        return self._why

    async def open(self, start: SessionStart) -> AgentSession:
        """Raises AgentGone with the reason of the import error."""
        raise AgentGone(self._why)
