"""The agents that an engine knows: whether they can be used, and for what."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from turnwire.core.error_codes import Refused
from turnwire.dialects.v2 import payloads as p
from turnwire.ports import Agent, AgentCapabilities

__all__ = ["KnownAgents"]

_log = logging.getLogger("turnwire")

# What the engine does for every agent.
_COMMANDS = ["user.message", "user.input_response", "user.permission_response", "user.interrupt"]
_COMMANDS += ["user.queue", "session.heartbeat"]


class KnownAgents:
    """Agents by name, asked before anything is asked of them."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self._agents = agents

    def get(self, name: str) -> Agent | None:
        """The agent of this name, usable or not. None: there is none."""
        return self._agents.get(name)

    def usable(self, name: str) -> Agent:
        """One that can be used now. Raises Refused, which says what to do."""
        agent = self._agents.get(name)
        if agent is None:
            known = ", ".join(sorted(self._agents)) or "none"
            raise Refused("AGENT_UNAVAILABLE", f"There is no agent {name!r}; there is: {known}.")
        try:
            why = agent.unavailable()
        except Exception as failure:  # whoever wrote the agent is told, and nobody else is hurt
            _log.exception("the agent %s cannot say whether it can be used", name)
            said = f"The agent {name} failed when it was asked whether it can be used: {failure!r}"
            raise Refused("AGENT_ERROR", said) from failure
        if why is not None:
            raise Refused("AGENT_UNAVAILABLE", why)
        return agent

    def unavailable(self, name: str) -> str | None:
        """Why an agent cannot be used now, and what to do about it."""
        try:
            self.usable(name)
        except Refused as refused:
            return refused.message
        return None

    def check_able(self, name: str, command: str) -> AgentCapabilities:
        """What the agent can do. Raises Refused with NOT_SUPPORTED where it cannot do this."""
        able = self.usable(name).capabilities
        if command not in able.commands:
            raise Refused("NOT_SUPPORTED", f"The agent {name} has no {command}.")
        return able

    def capabilities(self, name: str, *, is_owner: bool = True) -> p.Capabilities:
        """What can be asked of this agent; little, if it is not here.

        `is_owner`: by the owner of the data, or by a program of theirs.
        """
        agent = self._agents.get(name)
        able = agent.capabilities if agent else AgentCapabilities()
        return p.Capabilities(
            name,
            [*_COMMANDS, *able.commands],
            able.images,
            able.models,
            able.modes_for(is_owner=is_owner),
            able.controls,
            able.forks,
        )
