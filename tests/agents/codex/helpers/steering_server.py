"""An engine with Codex that is killed when Codex reports that it took a message into its turn."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from turnwire.agents.codex import CodexAgent
from turnwire.core.conversation import agent as agent_rules
from turnwire.core.conversation.state import Options
from turnwire.crash_points import CrashPoint, on_reach
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import codex_environment


def die(*_: Any) -> None:
    """Ends this process before the event is written."""
    os.kill(os.getpid(), signal.SIGKILL)


async def serve(place: Path, url: str) -> None:
    """Begins a turn with a command, and sends a message into it."""
    store = await SqliteStore.open(place / "turnwire.db")
    agent = CodexAgent(env=codex_environment(url, place / "home"), start_seconds=180.0)
    async with Engine(store, {"codex": agent}, settings=EngineSettings(lease=3.0)) as engine:
        rules = Options(on_disconnect="continue")
        work = str(place / "work")
        talk = await engine.create("codex", conversation_id="talk", cwd=work, rules=rules)
        await talk.send("go")
        async for frame in talk.follow():
            if isinstance(frame, f.AssistantToolCall):
                agent_rules.is_taken = die  # type: ignore[attr-defined,assignment]
                on_reach(tell)
                await talk.send("in blue", steer=True)


def tell(point: CrashPoint) -> None:
    """Prints that Codex has the message."""
    if point is CrashPoint.STEERED:
        print("steered", flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2]))
