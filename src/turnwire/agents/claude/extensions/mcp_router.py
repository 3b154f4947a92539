"""MCP servers that are in this very process: who of them answers the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.agents.claude.extensions.tool_host import ToolHost
from turnwire.agents.claude.options.mcp_toggles import Switches
from turnwire.agents.claude.questions.question_tools import SERVER

__all__ = ["OwnServers"]


class OwnServers:
    """The one that asks people, those of the application, and those that were switched off.

    `asking` answers for the one that asks people, and `answer` answers the program.
    """

    def __init__(
        self,
        tools: ToolHost,
        switches: Switches,
        *,
        asking: Callable[[Any], dict[str, Any]],
        answer: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self.tools = tools
        self.switches = switches
        self._asking = asking
        self._answer = answer

    def has(self, server: str) -> bool:
        """Whether it is answered here, and not by the SDK."""
        return server == SERVER or self.tools.has(server) or self.switches.is_off(server)

    def take(self, request_id: str, server: str, message: Any) -> bool:
        """Whether this is for one of them; then it is answered, now or when its tool has run."""
        if server == SERVER:
            answer = self._asking(message)
        elif self.switches.is_off(server):
            answer = self.switches.answer(server, message)
        elif self.tools.has(server):
            self.tools.take(request_id, server, message)
            return True
        else:
            return False
        self._answer(request_id, {"mcp_response": answer})
        return True
