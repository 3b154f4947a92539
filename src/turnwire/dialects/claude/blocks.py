"""The content blocks of the Messages API and of Claude Code."""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct

from turnwire.core.blocks import UnknownBlock

__all__ = [
    "AdvisorToolResultBlock",
    "BashCodeExecutionToolResultBlock",
    "ClaudeBlock",
    "CodeExecutionToolResultBlock",
    "DocumentBlock",
    "ImageBlock",
    "ImageSource",
    "McpToolResultBlock",
    "McpToolUseBlock",
    "RedactedThinkingBlock",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "TextBlock",
    "TextEditorCodeExecutionToolResultBlock",
    "ThinkingBlock",
    "ToolResultBlock",
    "ToolSearchToolResultBlock",
    "ToolUseBlock",
    "WebFetchToolResultBlock",
    "WebSearchToolResultBlock",
]


class _Block(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class TextBlock(_Block, frozen=True, tag="text"):
    """Text."""

    text: str = ""
    citations: list[Any] | None = None


class ThinkingBlock(_Block, frozen=True, tag="thinking"):
    """Reasoning, with a signature that proves its origin."""

    thinking: str = ""
    signature: str | None = None


class RedactedThinkingBlock(_Block, frozen=True, tag="redacted_thinking"):
    """Encrypted reasoning: can be sent back to the model, but not read."""

    data: str = ""  # encrypted


class ToolUseBlock(_Block, frozen=True, tag="tool_use"):
    """A tool call."""

    id: str
    name: str
    input: Any = None


class ServerToolUseBlock(_Block, frozen=True, tag="server_tool_use"):
    """A tool call that the model's provider executes."""

    id: str
    name: str
    input: Any = None


class McpToolUseBlock(_Block, frozen=True, tag="mcp_tool_use"):
    """A tool call that the model's provider sends to an MCP server."""

    id: str
    name: str
    input: Any = None
    server_name: str | None = None


class ToolResultBlock(_Block, frozen=True, tag="tool_result"):
    """The result of a tool call."""

    tool_use_id: str
    content: Any = None
    is_error: bool | None = None


class ServerToolResultBlock(_Block, frozen=True, tag=False):
    """The result of a tool of the model's provider; each tool has its own type."""

    tool_use_id: str
    content: Any = None
    is_error: bool | None = None


class WebSearchToolResultBlock(ServerToolResultBlock, frozen=True, tag="web_search_tool_result"):
    """The result of a web search."""


class WebFetchToolResultBlock(ServerToolResultBlock, frozen=True, tag="web_fetch_tool_result"):
    """The content of a web page."""


class CodeExecutionToolResultBlock(
    ServerToolResultBlock, frozen=True, tag="code_execution_tool_result"
):
    """The result of a program."""


class BashCodeExecutionToolResultBlock(
    ServerToolResultBlock, frozen=True, tag="bash_code_execution_tool_result"
):
    """The result of a command in the provider's sandbox."""


class TextEditorCodeExecutionToolResultBlock(
    ServerToolResultBlock, frozen=True, tag="text_editor_code_execution_tool_result"
):
    """The result of an edit in the provider's sandbox."""


class ToolSearchToolResultBlock(ServerToolResultBlock, frozen=True, tag="tool_search_tool_result"):
    """The result of a search for tools."""


class AdvisorToolResultBlock(ServerToolResultBlock, frozen=True, tag="advisor_tool_result"):
    """Advice from another model."""


class McpToolResultBlock(ServerToolResultBlock, frozen=True, tag="mcp_tool_result"):
    """The result of an MCP tool that the provider called."""


class ImageSource(Struct, frozen=True, omit_defaults=True, gc=False):
    """The source of an image."""

    type: str = ""
    media_type: str | None = None
    data: str | None = None  # base64
    url: str | None = None


class ImageBlock(_Block, frozen=True, tag="image"):
    """An image."""

    source: ImageSource


class DocumentBlock(_Block, frozen=True, tag="document"):
    """A document for the model."""

    source: Any = None
    title: str | None = None
    context: str | None = None


ClaudeBlock: TypeAlias = (
    TextBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | ToolUseBlock
    | ServerToolUseBlock
    | McpToolUseBlock
    | ToolResultBlock
    | WebSearchToolResultBlock
    | WebFetchToolResultBlock
    | CodeExecutionToolResultBlock
    | BashCodeExecutionToolResultBlock
    | TextEditorCodeExecutionToolResultBlock
    | ToolSearchToolResultBlock
    | AdvisorToolResultBlock
    | McpToolResultBlock
    | ImageBlock
    | DocumentBlock
    | UnknownBlock
)
