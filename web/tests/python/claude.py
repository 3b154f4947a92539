"""A server with the real Claude Code, whose model follows a script: claude.py DIR"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from turnwire.agents.claude import ClaudeAgent
from turnwire.server.app import create_app
from turnwire.server.listen import Server, address_of, bind
from turnwire.settings import Settings
from turnwire.testing.model_api import ModelApi, Say, Text, Thinking, ToolUse, claude_environment
from turnwire.testing.model_api.script import Block, Reply

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
SCRIPT: list[Reply | str] = [
    Say(
        [
            Thinking("A file is wanted."),
            Text("I will write it."),
            ToolUse(
                "Write",
                {"file_path": "greet.py", "content": "def greet():\n    return 1\n"},
                id="write_1",
            ),
        ]
    ),
    Say([ToolUse("Bash", {"command": "touch made; echo made it"}, id="bash_1")]),
    Say([ToolUse("AskUserQuestion", {"questions": [QUESTION]}, id="ask_1")]),
    ANSWER,
]


async def main() -> None:
    place = Path(sys.argv[1])
    work = place / "work"
    work.mkdir()
    script = [
        Say([_in(work, block) for block in step.blocks]) if isinstance(step, Say) else step
        for step in SCRIPT
    ]
    async with ModelApi(*script) as api:
        env = claude_environment(api.url, place / "home")
        agent = ClaudeAgent({"model": "claude-sonnet-4-5"}, env=env)
        settings = Settings(
            data_dir=str(place / "data"),
            protocol_v2=True,
            on_disconnect="continue",
            port=0,
            agent="claude",
            made_agents={"claude": agent},
            roots=[str(work)],
        )
        listener = bind(settings, any_port=True)
        app = create_app(settings)

        async def announce() -> None:
            service = await app.start()
            assert service.owner is not None
            url = address_of(listener)
            print(f"Turnwire is at {url}")
            print(f"{url}/enter?link={await service.keys.link(service.owner)}")
            print("Stop", flush=True)

        await Server(app, settings, listener, announce).serve([listener])


def _in(work: Path, block: Block | str) -> Block | str:
    if isinstance(block, ToolUse) and block.name == "Write":
        return ToolUse("Write", {**block.input, "file_path": str(work / "greet.py")}, id=block.id)
    return block


asyncio.run(main())
