"""An engine with Claude that dies when Claude has taken a message, before the log has it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from turnwire.agents.claude import ClaudeAgent
from turnwire.core.conversation import agent as agent_rules
from turnwire.core.conversation.state import Options
from turnwire.crash_points import CrashPoint, on_reach
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import claude_environment


def forget(*_: Any) -> None:
    """Takes the place of the rule that writes the message into the log."""


def is_recorded(home: Path) -> bool:
    """Returns whether Claude's own record has a message that it took into its turn."""
    return any(b'"queued_command"' in path.read_bytes() for path in home.rglob("*.jsonl"))


async def serve(place: Path, url: str) -> None:
    """Begins a turn with a command, and sends a message into it."""
    store = await SqliteStore.open(place / "turnwire.db")
    home = place / "home"
    agent = ClaudeAgent(
        {"model": "claude-sonnet-4-5"},
        titles=False,
        env=claude_environment(url, home),
        start_seconds=180.0,
    )
    async with Engine(store, {"claude": agent}, settings=EngineSettings(lease=3.0)) as engine:
        rules = Options(on_disconnect="continue")
        work = str(place / "work")
        talk = await engine.create("claude", conversation_id="talk", cwd=work, rules=rules)
        await talk.send("go")
        is_sent = False
        async for frame in talk.follow():
            if isinstance(frame, f.AssistantToolCall) and not is_sent:
                is_sent = True
                agent_rules.is_taken = forget  # type: ignore[attr-defined,assignment]
                on_reach(tell)
                await talk.send("in blue", steer=True)
            elif isinstance(frame, f.AssistantChunk) and frame.payload.partial:
                while not await asyncio.to_thread(is_recorded, home):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
                os.kill(os.getpid(), signal.SIGKILL)


def tell(point: CrashPoint) -> None:
    """Prints that Claude has the message."""
    if point is CrashPoint.STEERED:
        print("steered", flush=True)


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2]))
