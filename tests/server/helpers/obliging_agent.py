"""An agent that carries out every control."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.server.helpers.frame_checks import Able
from turnwire.agents.demo import DemoAgent
from turnwire.agents.demo.agent import DemoSession
from turnwire.core import controls as c
from turnwire.core.error_codes import Refused
from turnwire.ports import AgentCapabilities, AgentGone, SessionStart

FILES = c.McpServer("files", "connected", tools=["read"])


class Obliging(DemoAgent):
    """An agent that carries out every control, except those that hang, fail or are unknown."""

    capabilities = AgentCapabilities(
        commands=[
            *Able.capabilities.commands,
            "session.set_max_thinking_tokens",
            "session.control",
        ],
        models=["default", "m-1"],
        permission_modes=["default", "plan"],
        controls=[name for name in c.CONTROLS if name != "commands"],
        questions_survive=True,
    )

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.asked: list[c.Control] = []
        self.go_on = asyncio.Event()

    async def open(self, start: SessionStart) -> DemoSession:
        session = await super().open(start)
        session.control = self.control  # type: ignore[method-assign]
        return session

    async def control(self, control: c.Control) -> c.ControlResult:
        self.asked.append(control)
        match control:
            case c.RewindFiles(dry_run=dry_run):
                return c.Rewound(["a.txt"], [] if dry_run else ["b.txt"])
            case c.McpStatus():
                return c.McpServers([FILES])
            case c.McpReconnect(server="slow"):
                await self.go_on.wait()
                return c.Done()
            case c.McpReconnect(server="broken"):
                raise ZeroDivisionError
            case c.McpReconnect(server="gone"):
                raise AgentGone("It has left.")
            case c.McpReconnect(server="files"):
                return c.Done()
            case c.McpReconnect(server=server):
                raise Refused("INVALID_PAYLOAD", f"There is no server {server!r}.")
            case c.ContextUsage():
                return c.ContextUsed(10, 100, 10.0, "m-1", [c.ContextPart("Words", 10)])
            case c.ListModels():
                return c.Models([c.Model("m-1", "The first")])
            case _:
                return c.Done()
