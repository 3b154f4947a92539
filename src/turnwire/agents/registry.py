"""The agents by name. An agent is imported when it is asked for, so that none costs what it is not used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from turnwire.errors import TurnwireError
from turnwire.ports import Agent, AgentCapabilities, AgentGone, AgentSession, SessionStart

__all__ = ["UnknownAgent", "chosen", "default", "find", "make", "name_of", "names"]

_AGENTS = {
    "claude": "turnwire.agents.claude:ClaudeAgent",
    "demo": "turnwire.agents.demo:DemoAgent",
    "replay": "turnwire.agents.replay:ReplayAgent",
}


class UnknownAgent(TurnwireError):
    """There is no agent of this name. The message names those that there are."""

    code = "AGENT_UNAVAILABLE"


def names() -> list[str]:
    """The agents that Turnwire brings along."""
    return sorted(_AGENTS)


def make(name: str, **options: Any) -> Agent:
    """An agent, by its name or as `module:attribute`, made with its own options."""
    where = name if ":" in name else _AGENTS.get(name)
    if where is None:
        raise UnknownAgent(f"There is no agent {name!r}; there is: {', '.join(names())}.")
    module, _, attribute = where.partition(":")
    try:
        maker = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        step = "Name one that is installed here, as module:attribute." if ":" in name else ""
        said = f"The agent {name!r} cannot be imported: {error}. {step}"
        raise UnknownAgent(said.rstrip()) from error
    try:
        agent: Agent = maker(**options)
    except (TypeError, ValueError) as error:
        raise UnknownAgent(f"The agent {name!r} cannot be made: {error}.") from error
    if not hasattr(agent, "capabilities"):
        raise UnknownAgent(f"{name!r} is no agent. Name a class that keeps the agent port.")
    return agent


def name_of(given: str, agent: Agent) -> str:
    """What conversations call an agent that was asked for in these words: its own name."""
    return agent.name if ":" in given else given


def find(name: str, known: Sequence[str] = ()) -> Agent:
    """The agent that a conversation is with: one of those `known` as `module:attribute`, or of ours."""
    for where in known:
        if ":" in where and (agent := make(where)).name == name:
            return agent
    if name not in _AGENTS:  # also `module:attribute`: a stored name never imports a module
        raise UnknownAgent(
            f"This conversation is with {name!r}, which is none of Turnwire's own agents. Say where "
            "it is: TURNWIRE_AGENT=module:attribute."
        )
    return make(name)


def default(options: Mapping[str, Mapping[str, Any]] | None = None) -> tuple[str, str | None]:
    """Whom to talk to if nobody says: Claude where it can be used, else the demo, and why.

    `options` are what each agent is made with: a credential may be among them.
    """
    why = make("claude", **(options or {}).get("claude", {})).unavailable()
    return ("claude", None) if why is None else ("demo", why)


def chosen(
    wanted: Sequence[str], usual: str, options: Mapping[str, Mapping[str, Any]] | None = None
) -> tuple[dict[str, Agent], str]:
    """The agents of a server by their own names, and the name of the one that is usual there.

    `wanted` are names or `module:attribute`; none: all that Turnwire brings along. `usual` is one
    more, if it is none of them. `options` are what each is made with. Raises UnknownAgent for what
    somebody asked for and is not there.
    """
    agents: dict[str, Agent] = {}
    own_names: dict[str, str] = {}
    given = dict(options or {})
    for name in wanted or names():
        is_asked_for = bool(wanted) or name in given
        try:
            agent = make(name, **given.pop(name, {}))
        except UnknownAgent as missing:
            if is_asked_for:
                raise
            agent = _Missing(name, missing.message)
        own_names[name] = name_of(name, agent)
        agents[own_names[name]] = agent
    if ":" in usual and usual not in own_names:
        agent = make(usual, **given.pop(usual, {}))
        own_names[usual] = agent.name
        agents[agent.name] = agent  # even where one of ours has that name: this one was chosen
    if given:
        there = ", ".join(sorted(own_names))
        raise UnknownAgent(f"agent_options are for {min(given)!r}; there is: {there}.")
    return agents, own_names.get(usual, usual)


class _Missing:
    """An agent that cannot even be imported here. It is listed, with what to do about it."""

    capabilities = AgentCapabilities()

    def __init__(self, name: str, why: str) -> None:
        self.name = name
        self._why = why

    def unavailable(self) -> str | None:
        """Why not."""
        return self._why

    async def open(self, start: SessionStart) -> AgentSession:
        """It cannot be."""
        raise AgentGone(self._why)
