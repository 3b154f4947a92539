"""The agent `codex`: runs Codex's app-server, one guarded process per active conversation."""

from turnwire.agents.codex.agent import CodexAgent
from turnwire.agents.codex.options import CodexOptions

__all__ = ["CodexAgent", "CodexOptions"]
