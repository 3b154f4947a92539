"""Routes MCP messages of the program to the in-process servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.agents.claude.extensions.tool_host import ToolHost
from turnwire.agents.claude.options.mcp_toggles import Switches
from turnwire.agents.claude.questions.question_tools import SERVER

__all__ = ["OwnServers"]


class OwnServers:
    """The server that asks people, the application's servers, and servers that are switched off.

    `asking` answers for the server that asks people. `answer` sends an answer to the program.
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
        """Whether a server is answered here, and not by the SDK."""
        return server == SERVER or self.tools.has(server) or self.switches.is_off(server)

    def take(self, request_id: str, server: str, message: Any) -> bool:
        """Answers a message, at once or after its tool has run. Returns False for other servers."""
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
