"""The agents by name. An agent is imported when it is asked for, so that none costs what it is not used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from turnwire.errors import TurnwireError
from turnwire.ports import Agent

__all__ = ["UnknownAgent", "default", "make", "names", "unavailable"]

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
        raise UnknownAgent(f"The agent {name!r} cannot be imported: {error}.") from error
    try:
        agent: Agent = maker(**options)
    except TypeError as error:
        raise UnknownAgent(f"The agent {name!r} cannot be made: {error}.") from error
    if not hasattr(agent, "capabilities"):
        raise UnknownAgent(f"{name!r} is no agent. Name a class that keeps the agent port.")
    return agent


def default() -> tuple[str, str | None]:
    """Whom to talk to if nobody says: Claude where it can be used, else the demo, and why."""
    why = make("claude").unavailable()
    return ("claude", None) if why is None else ("demo", why)


def unavailable() -> dict[str, str | None]:
    """Why each agent cannot be used here and what to do about it; none: it is ready."""
    reasons: dict[str, str | None] = {}
    for name in names():
        try:
            reasons[name] = make(name).unavailable()
        except UnknownAgent as error:
            reasons[name] = error.message
    return reasons
