"""Formats blocks of agents that are neither text, nor thinking, nor tool calls."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from turnwire.cli.live.tool_names import name_of
from turnwire.cli.terminal.visible import safe
from turnwire.cli.terminal.words import plain
from turnwire.core.changed_files import changed_files

__all__ = ["block_lines"]

_MARKS = {"failed": ("✗", "red"), "in_progress": ("●", "yellow")}


def block_lines(block: Any) -> list[Text]:
    """Returns the lines of a block. A plan has none: the terminal draws every plan by itself."""
    match block:
        case {"type": "todo_list"}:
            return []
        case {"type": "web_search", "query": str(query)}:
            return [_line(block, name_of("web_search"), query)]
        case {"type": "command_execution", "command": str(command)}:
            return [_line(block, name_of("command_execution"), f"$ {command}")]
        case {"type": "mcp_tool_call", "server": str(server), "tool_name": str(tool)}:
            return [_line(block, f"{server}: {tool}")]
        case {"type": "file_change"}:
            paths = [change.path for change in changed_files(block)[0]]
            return [_line(block, name_of("file_change"), ", ".join(paths))]
        case {"type": "error", "message": str(message)}:
            return [Text(plain(safe(message)), "red")]
        case {"type": "file_ref", "path": str(path)}:
            return [_line(block, "file", path)]
        case {"type": str(kind)}:
            return [Text(plain(f"[{kind}]"), "dim")]
        case _:
            return [Text("[a block without text]", "dim")]


def _line(block: dict[str, Any], name: str, about: str = "") -> Text:
    mark, style = _MARKS.get(str(block.get("status")), ("✓", "green"))
    return Text.assemble((mark, style), " ", (plain(safe(name)), "bold"), f"  {plain(safe(about))}")
