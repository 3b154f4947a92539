"""A scripted model, so that an agent can be tested without a real one.

    async with ModelApi("Hello.", Say([ToolUse("Bash", {"command": "ls"})]), "Done.") as api:
        ...  # start an agent with ANTHROPIC_BASE_URL = api.url
        assert api.requests[0].prompt == "hi"

The agent, its HTTP requests, its tools and its processes are real; only the model is scripted. It
speaks the Messages API of Anthropic and the Responses API of OpenAI.
"""

from turnwire.testing.model_api.environment import (
    claude_environment,
    codex_config,
    codex_environment,
)
from turnwire.testing.model_api.request import Request
from turnwire.testing.model_api.script import (
    Fail,
    Hold,
    Raw,
    RedactedThinking,
    Reply,
    Say,
    Script,
    Text,
    Thinking,
    ToolUse,
)
from turnwire.testing.model_api.server import ModelApi, Said

__all__ = [
    "Fail",
    "Hold",
    "ModelApi",
    "Raw",
    "RedactedThinking",
    "Reply",
    "Request",
    "Said",
    "Say",
    "Script",
    "Text",
    "Thinking",
    "ToolUse",
    "claude_environment",
    "codex_config",
    "codex_environment",
]
