"""An engine with Codex in its own process, which a test kills. It says something once, and reports."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from turnwire.agents.codex import CodexAgent
from turnwire.core.conversation.state import Options
from turnwire.engine import Engine, EngineSettings
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import codex_environment


async def serve(place: Path, url: str, options: dict[str, Any]) -> None:
    """Begins a turn, and prints the type of each frame."""
    store = await SqliteStore.open(place / "turnwire.db")
    agent = CodexAgent(env=codex_environment(url, place / "home"), start_seconds=180.0)
    async with Engine(store, {"codex": agent}, settings=EngineSettings(lease=3.0)) as engine:
        rules = Options(on_disconnect="continue")
        work = str(place / "work")
        talk = await engine.create(
            "codex", conversation_id="talk", cwd=work, rules=rules, options=options
        )
        await talk.send("go")
        async for frame in talk.follow():
            print(frame.__struct_config__.tag, flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
