"""An engine with opencode in its own process, which a test kills. It says something, and reports."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.agents.acp.helpers.real_opencode import make_opencode
from tests.agents.claude.helpers.real_claude import RULES, TALK
from turnwire.engine import Engine, EngineSettings
from turnwire.stores.sqlite import SqliteStore

FORK = "fork"


async def serve(program: Path, home: Path, place: Path, url: str) -> None:
    """Begins a turn, and prints the type of each frame. After the turn, it forks the conversation."""
    store = await SqliteStore.open(place / "turnwire.db")
    agent = make_opencode(program, url, home, place / "work")
    async with Engine(store, {"opencode": agent}, settings=EngineSettings(lease=3.0)) as engine:
        work = str(place / "work")
        talk = await engine.create("opencode", conversation_id=TALK, cwd=work, rules=RULES)
        await talk.send("remember the word apple")
        async for frame in talk.follow():
            tag = frame.__struct_config__.tag
            print(tag, flush=True)
            if tag == "assistant.complete":
                await engine.fork(TALK, new_conversation_id=FORK)
                print("forked", flush=True)


if __name__ == "__main__":
    program, home, place, url = sys.argv[1:]
    asyncio.run(serve(Path(program), Path(home), Path(place), url))
