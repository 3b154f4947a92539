"""The names of tools for people, the same as on the page (web/src/tools/toolKinds.ts)."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

__all__ = ["kind_of", "name_of", "title_of"]

Kind: TypeAlias = Literal[
    "command", "change", "read", "search", "mcp", "web", "todo", "agent", "question", "raw"
]

_KINDS: dict[str, Kind] = {
    "bash": "command",
    "shell": "command",
    "command_execution": "command",
    "bashoutput": "command",
    "local_shell": "command",
    "edit": "change",
    "multiedit": "change",
    "write": "change",
    "notebookedit": "change",
    "file_change": "change",
    "apply_patch": "change",
    "read": "read",
    "notebookread": "read",
    "read_file": "read",
    "grep": "search",
    "glob": "search",
    "ls": "search",
    "toolsearch": "search",
    "websearch": "web",
    "webfetch": "web",
    "web_search": "web",
    "todowrite": "todo",
    "todo_list": "todo",
    "taskcreate": "todo",
    "taskupdate": "todo",
    "tasklist": "todo",
    "update_plan": "todo",
    "agent": "agent",
    "task": "agent",
    "request_input": "question",
    "askuserquestion": "question",
}
_NAMES = {
    "edit": "Edit",
    "multiedit": "Edit",
    "notebookedit": "Edit notebook",
    "write": "Write",
    "notebookread": "Read notebook",
    "glob": "Find files",
    "ls": "List files",
    "toolsearch": "Find tools",
    "websearch": "Web search",
    "web_search": "Web search",
    "webfetch": "Web page",
}
_OF_KINDS: dict[Kind, str] = {
    "command": "Command",
    "change": "Change",
    "read": "Read",
    "search": "Search",
    "web": "Web",
    "todo": "Plan",
    "agent": "Sub-agent",
    "question": "Question",
}
_MAY: dict[str, str] = {
    "websearch": "May the web be searched?",
    "web_search": "May the web be searched?",
    "webfetch": "May this web page be read?",
}
_MAY_KIND: dict[Kind, str] = {
    "command": "May this command run?",
    "change": "May these files be changed?",
    "read": "May this file be read?",
}
# The tools that change one file each. Others may change several.
_ONE_FILE = {"edit", "multiedit", "write", "notebookedit"}
_MCP = re.compile(r"mcp__(.+?)__(.+)", re.DOTALL)


def kind_of(tool_name: str) -> Kind:
    """Returns the kind of a tool."""
    name = tool_name.lower()
    if name.endswith("__request_input"):
        return "question"
    return "mcp" if name.startswith("mcp__") else _KINDS.get(name, "raw")


def name_of(tool_name: str) -> str:
    """Returns the name of a tool: a plain word, `server: tool`, or else the agent's own name."""
    kind = kind_of(tool_name)
    mcp = _MCP.fullmatch(tool_name)
    if mcp and kind != "question":
        return f"{mcp[1]}: {mcp[2]}"
    return _NAMES.get(tool_name.lower()) or _OF_KINDS.get(kind, tool_name)


def title_of(tool_name: str, title: str | None) -> str:
    """Returns the title of a permission. An agent's title for an MCP tool lacks the server."""
    if title and title != tool_name and not _MCP.fullmatch(tool_name):
        return title
    name, kind = tool_name.lower(), kind_of(tool_name)
    if name in _ONE_FILE:
        return "May this file be changed?"
    return _MAY.get(name) or _MAY_KIND.get(kind) or f"May the tool “{name_of(tool_name)}” run?"
