"""Functions of the application that Claude Code calls: hooks, tools and MCP servers."""
