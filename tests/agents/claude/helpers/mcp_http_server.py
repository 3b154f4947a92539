"""An MCP server made with the library `mcp`, served over HTTP."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("shouting")


async def shout(words: str) -> str:
    """Say it louder."""
    return words.upper()


server.add_tool(shout)
