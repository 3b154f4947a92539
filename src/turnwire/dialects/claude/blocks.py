"""Content blocks as the Messages API and Claude Code write them."""

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
    """Words."""

    text: str = ""
    citations: list[Any] | None = None


class ThinkingBlock(_Block, frozen=True, tag="thinking"):
    """Reasoning, with the signature that proves where it came from."""

    thinking: str = ""
    signature: str | None = None


class RedactedThinkingBlock(_Block, frozen=True, tag="redacted_thinking"):
    """Reasoning nobody may read, to be handed back as it is."""

    data: str = ""  # sealed


class ToolUseBlock(_Block, frozen=True, tag="tool_use"):
    """A call of a tool."""

    id: str
    name: str
    input: Any = None


class ServerToolUseBlock(_Block, frozen=True, tag="server_tool_use"):
    """A call of a tool that the model's provider runs."""

    id: str
    name: str
    input: Any = None


class McpToolUseBlock(_Block, frozen=True, tag="mcp_tool_use"):
    """A call of a tool on an MCP server that the model's provider talks to."""

    id: str
    name: str
    input: Any = None
    server_name: str | None = None


class ToolResultBlock(_Block, frozen=True, tag="tool_result"):
    """What a tool gave back."""

    tool_use_id: str
    content: Any = None
    is_error: bool | None = None


class ServerToolResultBlock(_Block, frozen=True, tag=False):
    """What a tool of the model's provider gave back; one type of it for each kind of tool."""

    tool_use_id: str
    content: Any = None
    is_error: bool | None = None


class WebSearchToolResultBlock(ServerToolResultBlock, frozen=True, tag="web_search_tool_result"):
    """Pages found."""


class WebFetchToolResultBlock(ServerToolResultBlock, frozen=True, tag="web_fetch_tool_result"):
    """A page read."""


class CodeExecutionToolResultBlock(
    ServerToolResultBlock, frozen=True, tag="code_execution_tool_result"
):
    """A program run."""


class BashCodeExecutionToolResultBlock(
    ServerToolResultBlock, frozen=True, tag="bash_code_execution_tool_result"
):
    """A command run in the provider's sandbox."""


class TextEditorCodeExecutionToolResultBlock(
    ServerToolResultBlock, frozen=True, tag="text_editor_code_execution_tool_result"
):
    """A file edited in the provider's sandbox."""


class ToolSearchToolResultBlock(ServerToolResultBlock, frozen=True, tag="tool_search_tool_result"):
    """Tools found."""


class AdvisorToolResultBlock(ServerToolResultBlock, frozen=True, tag="advisor_tool_result"):
    """Advice from another model."""


class McpToolResultBlock(ServerToolResultBlock, frozen=True, tag="mcp_tool_result"):
    """What an MCP tool gave back to the provider."""


class ImageSource(Struct, frozen=True, omit_defaults=True, gc=False):
    """Where a picture is."""

    type: str = ""
    media_type: str | None = None
    data: str | None = None  # base64
    url: str | None = None


class ImageBlock(_Block, frozen=True, tag="image"):
    """A picture."""

    source: ImageSource


class DocumentBlock(_Block, frozen=True, tag="document"):
    """A document given to the model."""

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
