"""Unified content blocks, of which the messages of every agent consist."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from turnwire.core.lenient import Unknown
from turnwire.core.question_names import asked_by_name

__all__ = [
    "CommandExecutionBlock",
    "ContentBlock",
    "ErrorBlock",
    "FileChange",
    "FileChangeBlock",
    "FileRefBlock",
    "ImageBlock",
    "McpToolCallBlock",
    "Status",
    "TextBlock",
    "ThinkingBlock",
    "TodoItem",
    "TodoListBlock",
    "ToolResultBlock",
    "ToolUseBlock",
    "UnknownBlock",
    "WebSearchBlock",
]

Status: TypeAlias = Literal["in_progress", "completed", "failed"]


class Block(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    """Base of all blocks. Blocks are trees, so the cycle collector may skip them."""


class TextBlock(Block, frozen=True, tag="text"):
    """Text for a person."""

    text: str
    status: Status
    citations: list[Any] | None = None  # the sources of the text, as the agent gave them


class ThinkingBlock(Block, frozen=True, tag="thinking"):
    """The model's reasoning."""

    thinking: str
    status: Status
    signature: str | None = None  # proof of origin; the model's API requires it back unchanged
    redacted: str | None = None  # encrypted reasoning, to be returned to the model's API unread


class ToolUseBlock(Block, frozen=True, tag="tool_use"):
    """A tool call."""

    id: str  # the agent's own id of the call
    tool_name: str
    tool_type: str  # a category for front ends: `CLAUDE_READ`, `MCP`, ...
    input: Any  # the arguments; null while they are streaming
    status: Status
    input_text: str | None = None  # the streamed arguments, if they are not valid JSON
    asks: bool | None = None  # it is a question to a person; null: if its tool is `request_input`

    @property
    def is_question(self) -> bool:
        """Returns whether the call is a question to a person."""
        return asked_by_name(self.tool_name) if self.asks is None else self.asks


class ToolResultBlock(Block, frozen=True, tag="tool_result"):
    """The result of a tool call."""

    tool_use_id: str  # the call that this is the result of
    content: Any  # text, or a list of blocks, as the agent reported it
    is_error: bool
    status: Status
    details: Raw | UnsetType = UNSET  # the tool's structured result, if the agent gives one


class ImageBlock(Block, frozen=True, tag="image"):
    """An image, inline or by URL."""

    status: Status
    mime_type: str | None = None
    data: str | None = None  # base64
    url: str | None = None


class FileRefBlock(Block, frozen=True, tag="file_ref"):
    """A file, by name, without its content."""

    path: str
    status: Status
    mime_type: str | None = None
    size: int | None = None  # bytes


class CommandExecutionBlock(Block, frozen=True, tag="command_execution"):
    """A shell command that the agent ran by itself."""

    id: str
    command: str
    status: Status
    cwd: str | None = None
    output: str | None = None  # standard output and standard error, in order of arrival
    exit_code: int | None = None
    duration_ms: int | None = None


class FileChange(Struct, frozen=True, omit_defaults=True, gc=False):
    """One file in a change."""

    path: str
    kind: str  # add, update, delete, ...
    diff: str | None = None  # as a unified diff


class FileChangeBlock(Block, frozen=True, tag="file_change"):
    """Files that the agent changed."""

    id: str
    changes: list[FileChange]
    status: Status


class McpToolCallBlock(Block, frozen=True, tag="mcp_tool_call"):
    """A call of a tool on an MCP server, if the agent reports such calls separately."""

    id: str
    server: str  # the MCP server's name
    tool_name: str
    arguments: Any
    status: Status
    result: Any = None
    error: str | None = None


class WebSearchBlock(Block, frozen=True, tag="web_search"):
    """A web search."""

    id: str
    query: str
    status: Status
    results: Any = None


class TodoItem(Struct, frozen=True, omit_defaults=True, gc=False):
    """One item of the agent's plan."""

    content: str
    status: str  # pending, in_progress, completed, or the agent's own status
    id: str | None = None  # if the agent numbers its tasks
    active_form: str | None = None  # its text while it is in progress: "Writing tests"


class TodoListBlock(Block, frozen=True, tag="todo_list"):
    """The agent's plan."""

    items: list[TodoItem]
    status: Status


class ErrorBlock(Block, frozen=True, tag="error"):
    """An error, shown in the conversation."""

    message: str
    status: Status
    code: str | None = None


class UnknownBlock(Unknown, tag_field="type", tag="unknown", frozen=True, gc=False):
    """A block of a kind this version does not know, kept unchanged."""

    keeps_whole = True


ContentBlock: TypeAlias = (
    TextBlock
    | ThinkingBlock
    | ToolUseBlock
    | ToolResultBlock
    | ImageBlock
    | FileRefBlock
    | CommandExecutionBlock
    | FileChangeBlock
    | McpToolCallBlock
    | WebSearchBlock
    | TodoListBlock
    | ErrorBlock
    | UnknownBlock
)
