"""The agent `claude`: runs the Claude Code CLI, one guarded process per active conversation."""

from turnwire.agents.claude.agent import ClaudeAgent
from turnwire.agents.claude.extensions.servers import HttpServer, SseServer, StdioServer, ToolServer
from turnwire.agents.claude.options.types import ClaudeOptions

__all__ = ["ClaudeAgent", "ClaudeOptions", "HttpServer", "SseServer", "StdioServer", "ToolServer"]
