"""An engine with the scripted agent in its own process, which a test kills at a question.

python -m tests.agents.acp.helpers.doomed_scripted PLACE WORDS OPTIONS
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.agents.acp.helpers.sessions import scripted
from tests.agents.claude.helpers.real_claude import RULES, TALK
from turnwire.engine import Engine, EngineSettings
from turnwire.stores.sqlite import SqliteStore


async def serve(place: Path, words: str, options: dict[str, Any]) -> None:
    """Begins a turn that asks, and prints the type of each frame."""
    store = await SqliteStore.open(place / "turnwire.db")
    work = place / "work"
    agents = {"scripted": scripted(work)}
    async with Engine(store, agents, settings=EngineSettings(lease=3.0)) as engine:
        talk = await engine.create(
            "scripted", conversation_id=TALK, cwd=str(work), rules=RULES, options=options
        )
        await talk.send(words)
        async for frame in talk.follow():
            print(frame.__struct_config__.tag, flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])))
