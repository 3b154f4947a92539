"""What people read about an agent before they choose it: what it is, can do, and still needs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from turnwire.background import BackgroundTasks
from turnwire.ports import Agent, AgentCapabilities, DescribesItself, RunsCommands

__all__ = ["Ability", "AgentFacts", "abilities_of", "facts_of"]

_log = logging.getLogger("turnwire")
_asked = BackgroundTasks()  # programs that are asked for their version


class Ability(Struct, frozen=True):
    """One thing that an agent can do."""

    name: str
    text: str  # plain words, for people


class AgentFacts(Struct, frozen=True):
    """The facts about an agent that do not depend on who asks."""

    description: str  # one line; empty if the agent has none
    version: str | None
    abilities: list[Ability]


_Has: TypeAlias = Callable[[AgentCapabilities], bool]


def _command(name: str) -> _Has:
    return lambda able: name in able.commands


def _choice(listed: str, command: str) -> _Has:
    """A command of which the session may offer nothing counts only if the agent lists choices."""
    return lambda able: (
        command in able.commands and (not able.session_offers or bool(getattr(able, listed)))
    )


def _control(name: str) -> _Has:
    return lambda able: name in able.controls


_ABILITIES: list[tuple[str, str, _Has]] = [
    ("images", "sees pictures", lambda able: able.images),
    ("files", "reads files", lambda able: able.reads_files or bool(able.files)),
    ("models", "changes its model", _choice("models", "session.set_model")),
    (
        "permission_modes",
        "changes its permission mode",
        _choice("permission_modes", "session.set_permission_mode"),
    ),
    (
        "session_offers",
        "changes what its session offers: model, mode, how much it thinks",
        lambda able: able.session_offers,
    ),
    (
        "thinking",
        "changes how much it thinks",
        _command("session.set_max_thinking_tokens"),
    ),
    ("steers", "takes messages into a running turn", lambda able: able.steers),
    ("forks", "forks with its own memory", lambda able: able.forks),
    (
        "forks_from_log",
        "forks with the log as its memory",
        lambda able: not (able.forks or able.takes_recap),
    ),
    (
        "told_in_forks",
        "is told in a fork what was said before",
        lambda able: able.takes_recap and not able.forks,
    ),
    ("rewind", "rewinds files", _command("user.rewind")),
    ("commands", "has slash commands", _control("commands")),
    ("context_usage", "shows how full its context is", _control("context_usage")),
    ("mcp_status", "shows its MCP servers", _control("mcp_status")),
    ("stop_task", "stops background tasks", _control("stop_task")),
    (
        "questions_survive",
        "continues with an answer after a restart",
        lambda able: able.questions_survive,
    ),
    ("keeps_budget", "stops at its budget within a turn", lambda able: able.keeps_budget),
    ("is_free", "costs nothing", lambda able: able.is_free),
]


def abilities_of(agent: Agent) -> list[Ability]:
    """Returns what an agent can do beyond messages, answers and stops, in plain words."""
    able = agent.capabilities
    found = [Ability(name, text) for name, text, has in _ABILITIES if has(able)]
    if isinstance(agent, RunsCommands) and agent.runs_commands:
        found.insert(0, Ability("runs_commands", "runs commands on this machine"))
    return found


async def facts_of(agent: Agent, *, patience: float | None = None) -> AgentFacts:
    """Returns the facts about an agent. May start its program to ask for the version.

    After `patience` seconds the version is left out; the program is still asked, for the next time.
    """
    description = ""
    version: str | None = None
    if isinstance(agent, DescribesItself):
        try:
            description = agent.description
            asked = _asked.run(agent.version())
            asked.add_done_callback(lambda task: task.cancelled() or task.exception())
            if (await asyncio.wait({asked}, timeout=patience))[0]:
                version = asked.result()
        except Exception:  # a defect of this agent must not hide the others
            _log.exception("the agent %s: it failed when it described itself", agent.name)
    return AgentFacts(description, version, abilities_of(agent))
