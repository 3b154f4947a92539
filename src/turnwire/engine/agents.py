"""The agents of an engine: their availability and their capabilities."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from turnwire.core.error_codes import Refused
from turnwire.core.offers import Offers, open_to_all
from turnwire.dialects.v2 import payloads as p
from turnwire.ports import Agent, AgentCapabilities

__all__ = ["KnownAgents"]

_log = logging.getLogger("turnwire")

# Commands that the engine supports for every agent.
_COMMANDS = ["user.message", "user.input_response", "user.permission_response", "user.interrupt"]
_COMMANDS += ["user.queue", "session.forget_rule", "session.heartbeat"]


class KnownAgents:
    """Agents by name, with checks before a command is handed to one."""

    def __init__(self, agents: Mapping[str, Agent]) -> None:
        self._agents = agents

    def get(self, name: str) -> Agent | None:
        """Returns the agent of this name, available or not. Returns None if it does not exist."""
        return self._agents.get(name)

    def usable(self, name: str, *, is_chosen: bool = False) -> Agent:
        """Returns an agent that is available. Raises Refused, which says what to do.

        `is_chosen`: the caller has named the agent, so an unknown name is an invalid choice. The
        agent of a stored conversation is missing here, and may be here again later.
        """
        agent = self._agents.get(name)
        if agent is None:
            known = ", ".join(sorted(self.available())) or "none"
            said = f"There is no agent {name!r}; there is: {known}."
            if not is_chosen:
                said += f" Start the server of this conversation with {name!r} among its agents."
            raise Refused("INVALID_PAYLOAD" if is_chosen else "AGENT_UNAVAILABLE", said)
        try:
            why = agent.unavailable()
        except Exception as failure:  # a defect of this agent must not affect the others
            _log.exception("the agent %s: its check of availability failed", name)
            said = f"The agent {name} failed when it was asked whether it is available: {failure!r}"
            raise Refused("AGENT_ERROR", said) from failure
        if why is not None:
            raise Refused("AGENT_UNAVAILABLE", why)
        return agent

    def available(self) -> list[str]:
        """Returns the names of the agents that are available."""
        return [name for name in self._agents if self.unavailable(name) is None]

    def unavailable(self, name: str) -> str | None:
        """Returns why an agent is unavailable, and what to do. Returns None if it is available."""
        try:
            self.usable(name)
        except Refused as refused:
            return refused.message
        return None

    def check_able(self, name: str, command: str) -> AgentCapabilities:
        """Returns the capabilities. Raises Refused with NOT_SUPPORTED if `command` is missing."""
        able = self.usable(name).capabilities
        if command not in able.commands:
            raise Refused("NOT_SUPPORTED", f"The agent {name} has no {command}.")
        return able

    def capabilities(
        self, name: str, *, is_owner: bool = True, offers: Offers | None = None
    ) -> p.Capabilities:
        """Returns the commands and choices that this agent offers; few if it does not exist.

        `is_owner`: for the owner of the data, or for a program of the owner. `offers`: those of the
        session, if it has said what it offers.
        """
        agent = self._agents.get(name)
        able = agent.capabilities if agent else AgentCapabilities()
        others = ["session.set_agent"] if self._agents.keys() - {name} else []
        told = offers if offers is not None and able.session_offers else Offers()
        modes = [*able.modes_for(is_owner=is_owner), *(told.permission_modes if is_owner else [])]
        options = told.session_options
        return p.Capabilities(
            name,
            [*_COMMANDS, *able.commands, *others],
            able.images and told.images is not False,
            list(dict.fromkeys([*able.models, *told.models])),
            list(dict.fromkeys(modes)),
            able.controls,
            agent is not None,
            able.steers,
            ["*/*"] if able.reads_files else able.files,
            options if is_owner else open_to_all(options),
            told.id or None,
        )
