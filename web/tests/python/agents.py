"""Agents for the tests of the page: TURNWIRE_AGENTS=web.tests.python.agents:NAME."""

from __future__ import annotations

from turnwire.agents.demo import DemoAgent
from turnwire.ports import AgentCapabilities

__all__ = ["Bold"]


class Bold(DemoAgent):
    """The demo, with a choice of permission modes."""

    capabilities = AgentCapabilities(
        commands=[*DemoAgent.capabilities.commands, "session.set_permission_mode"],
        options=DemoAgent.capabilities.options,
        permission_modes=["default", "plan", "bypassPermissions"],
        questions_survive=True,
        controls=DemoAgent.capabilities.controls,
        forks=True,
    )
