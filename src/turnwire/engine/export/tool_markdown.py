"""Tool calls and other blocks as Markdown: a command, a diff, a checklist, or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from turnwire.core.changed_files import changed_files

__all__ = ["block_markdown", "checklist", "fenced", "input_markdown", "json_of", "one_line"]

_TICKS = re.compile(r"`+")


def block_markdown(block: Any) -> Iterator[str]:
    """Yields a block that is neither text, nor thinking, nor a tool call."""
    fields = block if isinstance(block, dict) else msgspec.to_builtins(block)
    match fields:
        case {"type": "todo_list", "items": list(items)}:
            yield "**plan**"
            yield checklist(items)
        case {"type": "web_search", "query": str(query)}:
            yield f"**web search**: {one_line(query)}"
        case {"type": "command_execution", "command": str(command)}:
            yield "**command**"
            yield fenced(command, "sh")
            if isinstance(output := fields.get("output"), str) and output.strip():
                yield fenced(output.strip("\n"))
        case {"type": "file_change", "changes": list()}:
            yield "**file change**"
            yield from input_markdown({"changes": fields["changes"]})
        case {"type": "mcp_tool_call", "server": str(server), "tool_name": str(tool)}:
            yield f"**{one_line(server)}: {one_line(tool)}**"
            yield fenced(json_of(fields.get("arguments")), "json")
        case _:
            yield fenced(json_of(block), "json")


def input_markdown(given: Any) -> Iterator[str]:
    """Yields the input of a call: its command, its changed files, and the rest as JSON."""
    changes, rest = changed_files(given)
    if not isinstance(given, dict):
        yield fenced(json_of(given), "json")
        return
    command = rest.get("command")
    if isinstance(command, str) and command:
        yield fenced(command, "sh")
        rest = {
            name: value for name, value in rest.items() if name not in ("command", "description")
        }
    for change in changes:
        yield f"`{one_line(change.path)}`" + (f" ({one_line(change.kind)})" if change.kind else "")
        if change.diff:
            yield fenced(change.diff.strip("\n"), "diff")
    if rest or not (command or changes):
        yield fenced(json_of(rest), "json")


def checklist(items: Iterable[Any]) -> str:
    """Returns a plan as a list of tasks."""
    return "\n".join(_step(item) for item in items)


def _step(item: Any) -> str:
    fields = item if isinstance(item, dict) else msgspec.to_builtins(item)
    if not isinstance(fields, dict):
        return f"- [ ] {one_line(str(fields))}"
    mark = "x" if fields.get("status") == "completed" else " "
    return f"- [{mark}] {one_line(str(fields.get('content') or ''))}"


def one_line(text: str) -> str:
    """Returns a text on one line."""
    return " ".join(text.split())


def json_of(value: Any) -> str:
    """Returns a value as JSON with indentation."""
    return msgspec.json.format(msgspec.json.encode(value)).decode()


def fenced(text: str, language: str = "") -> str:
    """Returns a code block whose fence is longer than any backticks in the text."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
