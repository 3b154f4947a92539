"""The agent `claude`: runs the Claude Code CLI, one guarded process per active conversation."""

from turnwire.agents.claude.agent import ClaudeAgent
from turnwire.agents.claude.extensions.decisions import Decision, allow, ask, change, deny, stop
from turnwire.agents.claude.extensions.hooks import HookCall, hook
from turnwire.agents.claude.extensions.servers import HttpServer, SseServer, StdioServer, ToolServer
from turnwire.agents.claude.extensions.tools import ToolCall, ToolFailed, tool
from turnwire.agents.claude.options.types import ClaudeOptions, HelperDefinition, JsonSchema
from turnwire.agents.process import Limits

__all__ = [
    "ClaudeAgent",
    "ClaudeOptions",
    "Decision",
    "HelperDefinition",
    "HookCall",
    "HttpServer",
    "JsonSchema",
    "Limits",
    "SseServer",
    "StdioServer",
    "ToolCall",
    "ToolFailed",
    "ToolServer",
    "allow",
    "ask",
    "change",
    "deny",
    "hook",
    "stop",
    "tool",
]
