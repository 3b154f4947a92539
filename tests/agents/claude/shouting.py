"""An MCP server as the library makes it, to be served at an address."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("shouting")


async def shout(words: str) -> str:
    """Say it louder."""
    return words.upper()


server.add_tool(shout)
