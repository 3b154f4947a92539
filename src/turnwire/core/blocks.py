"""Unified content blocks: what any agent's message is made of, whoever the agent is."""

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
    """The common ground of all blocks. Blocks are trees, so the cycle collector may skip them."""


class TextBlock(Block, frozen=True, tag="text"):
    """Words for a person."""

    text: str
    status: Status
    citations: list[Any] | None = None  # the sources the words rest on, as the agent gave them


class ThinkingBlock(Block, frozen=True, tag="thinking"):
    """The model's reasoning."""

    thinking: str
    status: Status
    signature: str | None = None  # proof of origin; the model's API wants it back unchanged
    redacted: str | None = None  # reasoning that may only be handed back, not read


class ToolUseBlock(Block, frozen=True, tag="tool_use"):
    """A call of a tool."""

    id: str  # the agent's own id of the call, always
    tool_name: str
    tool_type: str  # a family a front end can switch on: `CLAUDE_READ`, `MCP`, ...
    input: Any  # the arguments; null while they still stream in
    status: Status
    input_text: str | None = None  # the streamed arguments, where they are not valid JSON
    asks: bool | None = None  # it is a question to a person; null: if its tool is `request_input`

    @property
    def is_question(self) -> bool:
        """Whether the call is a question to a person rather than work."""
        return asked_by_name(self.tool_name) if self.asks is None else self.asks


class ToolResultBlock(Block, frozen=True, tag="tool_result"):
    """What a tool call gave back."""

    tool_use_id: str  # the call this answers
    content: Any  # text, or a list of blocks, as the agent reported it
    is_error: bool
    status: Status
    details: Raw | UnsetType = UNSET  # the tool's structured result, where the agent gives one


class ImageBlock(Block, frozen=True, tag="image"):
    """A picture, inline or by address."""

    status: Status
    mime_type: str | None = None
    data: str | None = None  # base64
    url: str | None = None


class FileRefBlock(Block, frozen=True, tag="file_ref"):
    """A file, named but not included."""

    path: str
    status: Status
    mime_type: str | None = None
    size: int | None = None  # bytes


class CommandExecutionBlock(Block, frozen=True, tag="command_execution"):
    """A shell command the agent ran by itself."""

    id: str
    command: str
    status: Status
    cwd: str | None = None
    output: str | None = None  # standard output and standard error, as they came
    exit_code: int | None = None
    duration_ms: int | None = None


class FileChange(Struct, frozen=True, omit_defaults=True, gc=False):
    """One file in a change."""

    path: str
    kind: str  # add, update, delete, ...
    diff: str | None = None  # as a unified diff


class FileChangeBlock(Block, frozen=True, tag="file_change"):
    """Files the agent changed."""

    id: str
    changes: list[FileChange]
    status: Status


class McpToolCallBlock(Block, frozen=True, tag="mcp_tool_call"):
    """A call of a tool on an MCP server, where the agent reports those apart."""

    id: str
    server: str  # the MCP server's name
    tool_name: str
    arguments: Any
    status: Status
    result: Any = None
    error: str | None = None


class WebSearchBlock(Block, frozen=True, tag="web_search"):
    """A search on the web."""

    id: str
    query: str
    status: Status
    results: Any = None


class TodoItem(Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of the agent's plan."""

    content: str
    status: str  # pending, in_progress, completed, or the agent's own word
    id: str | None = None  # where the agent numbers its tasks
    active_form: str | None = None  # how to say it while it runs: "Writing tests"


class TodoListBlock(Block, frozen=True, tag="todo_list"):
    """The agent's plan."""

    items: list[TodoItem]
    status: Status


class ErrorBlock(Block, frozen=True, tag="error"):
    """Something went wrong, told in the conversation itself."""

    message: str
    status: Status
    code: str | None = None


class UnknownBlock(Unknown, tag_field="type", tag="unknown", frozen=True, gc=False):
    """A block of a kind this version does not know, kept as it came. One shape on every side."""

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
