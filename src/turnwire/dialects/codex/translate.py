"""Translates items of a thread into unified blocks.

What runs, waits for a permission or prints is a call with one result, so that a front end can show
it from its beginning. The details of the result are the unified block, with all that Codex reports.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from turnwire.core import blocks as unified
from turnwire.core.blocks import ContentBlock, Status, ToolResultBlock, ToolUseBlock
from turnwire.core.usage import Usage
from turnwire.dialects.codex import items as i
from turnwire.dialects.codex.messages import TokenCounts

__all__ = [
    "CALLS",
    "block_of",
    "call_of",
    "changes_of",
    "content_of",
    "result_of",
    "search_of",
    "usage_of",
]

CALLS = (
    i.CommandExecution,
    i.FileChange,
    i.McpToolCall,
    i.DynamicToolCall,
    i.CollabAgentToolCall,
)
"""The items that are calls."""

_encode = msgspec.json.Encoder().encode
_SIGNS = {"add": "+", "delete": "-"}  # of the lines of a whole file
_STATUS: dict[str, Status] = {"completed": "completed", "inProgress": "in_progress"}


def call_of(item: Any) -> ToolUseBlock:
    """Returns the call of an item of CALLS."""
    match item:
        case i.CommandExecution():
            given: Any = {"command": item.command, "cwd": item.cwd}
            return ToolUseBlock(
                item.id, "command_execution", "COMMAND_EXECUTION", given, "in_progress"
            )
        case i.FileChange():
            given = {"changes": msgspec.to_builtins(changes_of(item.changes))}
            return ToolUseBlock(item.id, "file_change", "FILE_CHANGE", given, "in_progress")
        case i.McpToolCall():
            name = f"mcp__{item.server}__{item.tool}"
            return ToolUseBlock(item.id, name, "MCP", item.arguments, "in_progress")
        case i.CollabAgentToolCall():
            given = {"prompt": item.prompt, "model": item.model}
            return ToolUseBlock(item.id, item.tool, "CODEX_AGENT", given, "in_progress")
        case _:
            return ToolUseBlock(item.id, item.tool, "TOOL", item.arguments, "in_progress")


def result_of(item: Any, output: str, *, interrupted: bool = False) -> ToolResultBlock:
    """Returns the result of an item of CALLS. `output` is what it has printed so far.

    With `interrupted` the turn ended before Codex completed the item.
    """
    status = _STATUS.get(item.status, "failed")
    if interrupted:
        status = "failed"
    content: Any
    match item:
        case i.CommandExecution():
            # The deltas may lack the first piece, so the complete output counts.
            content = output if item.aggregated_output is None else item.aggregated_output
            block: ContentBlock = unified.CommandExecutionBlock(
                item.id,
                item.command,
                status,
                item.cwd,
                content or None,
                item.exit_code,
                item.duration_ms,
            )
        case i.FileChange():
            content = output
            block = unified.FileChangeBlock(item.id, changes_of(item.changes), status)
        case i.McpToolCall():
            content = _mcp_content(item)
            error = _message(item.error)
            block = unified.McpToolCallBlock(
                item.id, item.server, item.tool, item.arguments, status, item.result, error
            )
        case _:
            content = _host_content(item) if isinstance(item, i.DynamicToolCall) else None
            block = unified.UnknownBlock(str(item.__struct_config__.tag), msgspec.to_builtins(item))
    if not content and not (content == "" and isinstance(item, i.DynamicToolCall)):
        content = "interrupted" if interrupted else item.status
    failed = status == "failed"
    return ToolResultBlock(item.id, content, failed, status, Raw(_encode(block)))


def changes_of(changes: list[i.FileUpdate]) -> list[unified.FileChange]:
    """Returns the changes of a patch."""
    return [_change(each.path, _kind(each.kind), each.diff) for each in changes]


def _change(path: str, kind: str, diff: str | None) -> unified.FileChange:
    """Returns a change. Codex gives the whole text of a new or deleted file instead of a diff."""
    sign = _SIGNS.get(kind)
    if diff and sign is not None and not diff.startswith("@@"):
        lines = diff.splitlines()
        place = f"-0,0 +1,{len(lines)}" if sign == "+" else f"-1,{len(lines)} +0,0"
        diff = "\n".join([f"@@ {place} @@", *(sign + line for line in lines)])
    return unified.FileChange(path, kind, diff)


def _kind(kind: Any) -> str:
    named = kind.get("type") if isinstance(kind, dict) else kind
    return named if isinstance(named, str) else "update"


def _mcp_content(item: i.McpToolCall) -> Any:
    said = item.result.get("content") if isinstance(item.result, dict) else None
    return said or _message(item.error)


def _host_content(item: i.DynamicToolCall) -> Any:
    """Returns what the host has answered: a text, or a list if it has other parts. None: nothing."""
    match item.content_items:
        case [{"type": "inputText", "text": str(text)}]:
            return text
        case other:
            return other


def _message(error: Any) -> str | None:
    said = error.get("message") if isinstance(error, dict) else error
    return said if isinstance(said, str) else None


def search_of(item: i.WebSearch, status: Status) -> unified.WebSearchBlock:
    """Returns a web search."""
    query = item.query
    action = item.action
    if not query and isinstance(action, dict):  # a page that was opened has no query
        query = next((str(action[key]) for key in ("url", "pattern") if action.get(key)), "")
    return unified.WebSearchBlock(item.id, query, status, item.results)


def block_of(item: Any) -> ContentBlock:
    """Returns the block of an item that is neither text, nor reasoning, nor a call."""
    match item:
        case i.WebSearch():
            return search_of(item, "completed")
        case i.ImageView():
            return unified.FileRefBlock(item.path, "completed", "image/*")
        case i.ImageGeneration() if item.result:
            return unified.ImageBlock("completed", "image/png", item.result)
        case i.UnknownItem():
            return unified.UnknownBlock(item.original_type, item.data)
        case _:
            return unified.UnknownBlock(str(item.__struct_config__.tag), msgspec.to_builtins(item))


def content_of(content: list[Any]) -> list[ContentBlock]:
    """Returns the content of a person's message."""
    return [_input(each) for each in content]


def _input(each: Any) -> ContentBlock:
    match each:
        case {"type": "text", "text": str(text)}:
            return unified.TextBlock(text, "completed")
        case {"type": "image", "url": str(url)}:
            head, comma, data = url.partition(";base64,")
            if comma and head.startswith("data:"):
                return unified.ImageBlock("completed", head.removeprefix("data:"), data)
            return unified.ImageBlock("completed", url=url)
        case {"type": "localImage", "path": str(path)}:
            return unified.FileRefBlock(path, "completed", "image/*")
        case {"type": str(kind)}:
            return unified.UnknownBlock(kind, each)
        case _:
            return unified.UnknownBlock("", each)


def usage_of(counts: list[TokenCounts]) -> Usage:
    """Returns the sum of the tokens of several requests to the model."""
    cached = sum(each.cached_input_tokens for each in counts)
    written = sum(each.cache_write_input_tokens for each in counts)
    return Usage(
        sum(each.input_tokens for each in counts) - cached,
        sum(each.output_tokens for each in counts),
        written,
        cached,
    )
