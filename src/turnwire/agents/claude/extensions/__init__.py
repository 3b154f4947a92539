"""Extensions by the application: hooks, tools and MCP servers that Claude Code calls."""
