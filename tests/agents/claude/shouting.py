"""An MCP server of its own, over standard input and output."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("shouting")


@server.tool()
async def shout(words: str) -> str:
    """Say it louder."""
    return words.upper()


if __name__ == "__main__":
    server.run()
