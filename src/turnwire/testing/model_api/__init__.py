"""A Messages API that says what a script tells it to, so that an agent can be tested without a model.

    async with ModelApi("Hello.", Say([ToolUse("Bash", {"command": "ls"})]), "Done.") as api:
        ...  # start an agent with ANTHROPIC_BASE_URL = api.url
        assert api.requests[0].prompt == "hi"

The agent is the real one, and so are its HTTP, its tools and its processes: only the model is not.
"""

from turnwire.testing.model_api.environment import claude_environment
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
]
