"""Claude Code as an agent: the real CLI, under the guard, one process per conversation that works."""

from turnwire.agents.claude.agent import ClaudeAgent
from turnwire.agents.claude.option_types import ClaudeOptions
from turnwire.agents.claude.servers import HttpServer, SseServer, StdioServer, ToolServer

__all__ = ["ClaudeAgent", "ClaudeOptions", "HttpServer", "SseServer", "StdioServer", "ToolServer"]
