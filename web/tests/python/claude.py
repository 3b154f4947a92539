"""A scripted model for the real Claude Code. `claude.py DIR SCRIPT` prints its environment."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from turnwire.testing.model_api import (
    ModelApi,
    Reply,
    Say,
    Text,
    Thinking,
    ToolUse,
    claude_environment,
)

MCP_SERVER = (
    Path(__file__).parents[3] / "tests" / "agents" / "claude" / "helpers" / "mcp_stdio_server.py"
)

QUESTION = {
    "question": "Which colours?",
    "header": "Colours",
    "multiSelect": True,
    "options": [
        {"label": "Blue", "description": "like the sky"},
        {"label": "Red", "description": "like a rose"},
    ],
}
ANSWER = """Done. It says:

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```

| file | lines |
|---|---:|
| greet.py | 2 |
"""


def talk(place: Path) -> list[Reply]:
    """Writes a file, runs a command, asks a question, and receives an image."""
    file = {"file_path": str(place / "greet.py"), "content": "def greet():\n    return 1\n"}
    command = {"command": "touch made; echo made it; exit 3", "timeout": 60_000}
    return [
        Say(
            [
                Thinking("A file is wanted."),
                Text("I will write it."),
                ToolUse("Write", file, id="write_1"),
            ]
        ),
        Say([ToolUse("Bash", command, id="bash_1")]),
        Say([ToolUse("AskUserQuestion", {"questions": [QUESTION]}, id="ask_1")]),
        ANSWER,
        "I see a picture.",
    ]


def agent_panel(place: Path) -> list[Reply]:
    """Writes a file, then changes it."""
    name = str(place / "notes.txt")
    change = {"file_path": name, "old_string": "one", "new_string": "two", "replace_all": False}
    return [
        Say([ToolUse("Write", {"file_path": name, "content": "one"}, id="write_1", cuts=None)]),
        "It is written.",
        Say([ToolUse("Edit", change, id="edit_1", cuts=None)]),
        "It is changed.",
    ]


def permissions(place: Path) -> list[Reply]:
    """Requests a command, a change and an MCP tool, then creates and changes files."""
    name = str(place / "new.txt")
    return [
        Say(
            [ToolUse("Bash", {"command": "touch made", "description": "Make a file"}, id="bash_1")]
        ),
        Say([ToolUse("Bash", {"command": "touch more"}, id="bash_2")]),
        Say([ToolUse("Write", {"file_path": name, "content": "one"}, id="write_1", cuts=None)]),
        Say([ToolUse("mcp__colours__pick", {}, id="pick_1", cuts=None)]),
        "All is done.",
        "Once more.",
    ]


SCRIPTS = {"talk": talk, "agent_panel": agent_panel, "permissions": permissions}
SERVERS = {
    "colours": {"command": sys.executable, "args": [str(MCP_SERVER)]},
    "broken": {"command": "/nowhere/at/all"},
}


async def main() -> None:
    place, script = Path(sys.argv[1]), sys.argv[2]
    (place / "home").mkdir()
    async with ModelApi(*SCRIPTS[script](place)) as api:
        environment = claude_environment(api.url, place / "home")
        if script != "talk":
            options = {"claude": {"mcp_servers": SERVERS}}
            environment["TURNWIRE_AGENT_OPTIONS"] = json.dumps(options)
        for name, value in environment.items():
            print(f"{name}={value}")
        print(flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
