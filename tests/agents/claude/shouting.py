"""An MCP server of its own, over standard input and output."""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer

server = MCPServer("shouting")


async def shout(words: str) -> str:
    """Say it louder."""
    return words.upper()


server.add_tool(shout)

if __name__ == "__main__":
    server.run()
