"""Claude Code as an agent: the real CLI, under the guard, one process per conversation that works."""

from turnwire.agents.claude.agent import ClaudeAgent
from turnwire.agents.claude.extensions.servers import HttpServer, SseServer, StdioServer, ToolServer
from turnwire.agents.claude.options.types import ClaudeOptions

__all__ = ["ClaudeAgent", "ClaudeOptions", "HttpServer", "SseServer", "StdioServer", "ToolServer"]
