"""Isolates agents from the data directory, and lists the risks that remain for the owner."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from turnwire.agents.isolation import Chosen, choose
from turnwire.ports import Agent, RunsCommands, Store
from turnwire.server.access.keys import SHARE, is_good
from turnwire.settings import Settings

__all__ = ["describe", "exposed", "has_other_users", "isolate", "risks"]

_STEP = (
    "Run the server as root with the setting agent_user, give other users no agent that runs "
    "commands, or run a server for each user. See docs/explanation/isolation.md"
)


async def isolate(settings: Settings, agents: Mapping[str, Agent]) -> Chosen:
    """Isolates every agent that runs commands. Raises TurnwireError if required isolation fails."""
    isolated = [agent for agent in agents.values() if isinstance(agent, RunsCommands)]
    if not isolated:
        return Chosen(None, "no agent of this server has processes of its own")
    chosen = await asyncio.to_thread(
        choose, settings.agent_isolation, settings.data_path, settings.agent_user
    )
    for agent in isolated:
        agent.isolate(chosen.isolation)
    return chosen


async def has_other_users(settings: Settings, store: Store, now: int) -> bool:
    """Returns whether users other than the owner can be authenticated."""
    if settings.authenticate is not None:
        return True
    return any(
        each.user is not None and each.kind != SHARE and is_good(each, now)
        for each in await store.tokens()
    )


def risks(settings: Settings, agents: Mapping[str, Agent], chosen: Chosen) -> list[str]:
    """Returns warnings: data of the owner that other users can reach through agents."""
    names = ", ".join(name for name, agent in agents.items() if _runs_commands(agent))
    if not names:
        return []
    reached = _reached(settings, names, chosen)
    return [*([reached] if reached else []), *exposed(agents)]


def exposed(agents: Mapping[str, Agent]) -> list[str]:
    """Returns a warning for each agent whose commands can read the credential of its model."""
    return [
        f"Commands that users have {name} run can read the credential of its model: {why}. "
        f"See docs/reference/agents/claude.md#the-credential-and-its-tools."
        for name, agent in agents.items()
        if _runs_commands(agent) and isinstance(agent, RunsCommands)
        if (why := agent.exposed_credential()) is not None
    ]


def _reached(settings: Settings, names: str, chosen: Chosen) -> str | None:
    if not chosen.is_enforced:
        return (
            f"Users are not isolated from the owner: commands that they have {names} run can read the "
            f"owner's token and every conversation in {settings.data_path}, because {chosen.why_none}. "
            f"{_STEP}."
        )
    if os.geteuid() == 0 and chosen.isolation is not None and chosen.isolation.by != "user":
        return (
            f"Users are not isolated from the owner: commands that they have {names} run are run by "
            f"root. The data directory is hidden from them, but root can get around that. {_STEP}."
        )
    return None


def describe(chosen: Chosen) -> str:
    """Returns a sentence for the operator that says how agents are isolated."""
    isolation = chosen.isolation
    if isolation is None or not chosen.is_enforced:
        return f"agents are not kept away from the data directory: {chosen.why_none}"
    if isolation.user is not None:
        return f"agents run as the user {isolation.user.name}"
    return (
        f"the data directory is hidden from agents ({isolation.by}). They run as the same user as the "
        "server: for users whom you do not trust, set agent_user"
    )


def _runs_commands(agent: Agent) -> bool:
    return getattr(agent, "runs_commands", False) and agent.unavailable() is None
