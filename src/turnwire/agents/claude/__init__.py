"""Claude Code as an agent: the real CLI, under the guard, one process per conversation that works."""

from turnwire.agents.claude.agent import ClaudeAgent

__all__ = ["ClaudeAgent"]
