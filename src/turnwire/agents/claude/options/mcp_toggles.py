"""Which MCP servers are on and off in a conversation, whatever the program remembers itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from turnwire.agents.claude.extensions.tool_host import answer_plain
from turnwire.core.controls import McpServer, McpServers

__all__ = ["Switches"]


class Switches:
    """The servers that the program was given, and those that a person has switched off.

    The program remembers a switch by the directory, and goes by that when it is started, so another
    conversation, or a person in a terminal, may have switched one of ours. And it forgets it of a
    server in this process, before its first turn: such a one says that it has no tools.
    """

    def __init__(self, servers: Collection[str], off: Collection[str]) -> None:
        self._servers = set(servers)
        self._off = set(off)

    @property
    def are_needed(self) -> bool:
        """Whether there is anything to switch."""
        return bool(self._servers)

    def is_off(self, server: str) -> bool:
        """Whether a person has switched it off."""
        return server in self._off

    def answer(self, server: str, message: Any) -> dict[str, Any]:
        """What a server of this process that is off says to the program."""
        return answer_plain(server, message, [])

    def told(self, status: McpServers) -> McpServers:
        """How the servers are, with those that the program has not heard from yet."""
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
        """Have the program, which has just been started, do as this conversation does."""
        known = {each.name: each.status == "disabled" for each in status.servers}
        for name in sorted(known.keys() & self._servers):
            if known[name] != self.is_off(name):
                await toggle(name, not self.is_off(name))

    async def switch(
        self, server: str, toggle: Callable[[str, bool], Awaitable[None]], *, enabled: bool
    ) -> None:
        """A person switches one."""
        if not enabled:
            await toggle(server, False)
            self._off.add(server)
        elif server in self._off:
            # The program may take it for one that is on, and then would not ask for its tools.
            await toggle(server, False)
            self._off.remove(server)
            await toggle(server, True)
        else:
            await toggle(server, True)
