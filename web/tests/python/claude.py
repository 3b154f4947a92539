"""A model that follows a script, for the real Claude Code: claude.py DIR prints its environment."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from turnwire.testing.model_api import ModelApi, Say, Text, Thinking, ToolUse, claude_environment

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


async def main() -> None:
    place = Path(sys.argv[1])
    (place / "home").mkdir()
    file = {"file_path": str(place / "greet.py"), "content": "def greet():\n    return 1\n"}
    command = {"command": "touch made; echo made it; exit 3", "timeout": 60_000}
    script = [
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
    async with ModelApi(*script) as api:
        for name, value in claude_environment(api.url, place / "home").items():
            print(f"{name}={value}")
        print(flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
