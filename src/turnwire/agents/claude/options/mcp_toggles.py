"""Which MCP servers are on and off in a conversation, independent of the program's own memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from turnwire.agents.claude.extensions.tool_host import answer_plain
from turnwire.core.controls import McpServer, McpServers

__all__ = ["Switches"]


class Switches:
    """The MCP servers of the program, and those that a person has switched off.

    The program saves switches per directory and applies them at its start. So another conversation,
    or a person in a terminal, may have switched a server of this conversation. Before its first
    turn the program also forgets the switches of in-process servers. A server that is off has no
    tools.
    """

    def __init__(self, servers: Collection[str], off: Collection[str]) -> None:
        self._servers = set(servers)
        self._off = set(off)

    @property
    def are_needed(self) -> bool:
        """Whether the program has any MCP servers."""
        return bool(self._servers)

    def is_off(self, server: str) -> bool:
        """Whether a person has switched a server off."""
        return server in self._off

    def answer(self, server: str, message: Any) -> dict[str, Any]:
        """Returns the answer of an in-process server that is off: it has no tools."""
        return answer_plain(server, message, [])

    def told(self, status: McpServers) -> McpServers:
        """Returns the status of all servers, including those that the program does not list yet."""
        named = {each.name for each in status.servers}
        late = [McpServer(name, "pending") for name in sorted(self._servers - named)]
        return McpServers([self._seen(each) for each in (*status.servers, *late)])

    def _seen(self, server: McpServer) -> McpServer:
        if server.name not in self._off:
            return server
        return McpServer(server.name, "disabled", transport=server.transport)

    async def begin(
        self, status: McpServers, toggle: Callable[[str, bool], Awaitable[None]]
    ) -> None:
        """Applies the switches of this conversation to a program that was just started."""
        known = {each.name: each.status == "disabled" for each in status.servers}
        for name in sorted(known.keys() & self._servers):
            if known[name] != self.is_off(name):
                await toggle(name, not self.is_off(name))

    async def switch(
        self, server: str, toggle: Callable[[str, bool], Awaitable[None]], *, enabled: bool
    ) -> None:
        """Switches a server on or off for a person."""
        if not enabled:
            await toggle(server, False)
            self._off.add(server)
        elif server in self._off:
            # The program may believe that it is on, and then would not ask for its tools.
            await toggle(server, False)
            self._off.remove(server)
            await toggle(server, True)
        else:
            await toggle(server, True)
