"""Messages into a running turn of a real agent, and what the log has of them."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tests.agents.claude.helpers.killable_server import until_abandoned
from tests.agents.claude.helpers.real_claude import Stage, until, until_it_runs
from turnwire.core.view import TextView
from turnwire.crash_points import CrashPoint, on_reach
from turnwire.dialects.v2 import frames as f
from turnwire.stores.sqlite import SqliteStore

__all__ = ["begin_command", "begin_text", "let_go", "outlive_server", "steer", "words"]

ROOT = Path(__file__).parents[3]


async def steer(it: Stage, text: str) -> None:
    """Sends a message into the running turn, and waits until the agent has it or has refused it."""
    reached: list[CrashPoint] = []
    on_reach(reached.append)
    try:
        ack = (await it.talk.send(text, steer=True)).ack
        assert (ack.turn_id, ack.queue_id is not None) == (1, True)
        await until(lambda: CrashPoint.STEERED in reached)
    finally:
        on_reach(None)


async def begin_command(it: Stage) -> None:
    """Begins a turn with the command `cat wait`, which runs until `let_go`."""
    os.mkfifo(it.work / "wait")
    await it.talk.send("go")
    await it.seen.until(f.AssistantToolCall)
    await until_it_runs("cat")


async def let_go(it: Stage) -> None:
    """Lets `cat wait` end."""
    await asyncio.to_thread(lambda: (it.work / "wait").open("w").close())


async def begin_text(it: Stage) -> None:
    """Begins a turn with a text that is held in its middle."""
    await it.talk.send("go")
    await it.seen.until(
        f.AssistantChunk, lambda frame: frame.payload.partial and bool(frame.payload.text)
    )


async def outlive_server(it: Stage, module: str, place: Path) -> None:
    """Runs a server that sends a message into `cat wait` and is killed. Then starts again."""
    os.mkfifo(it.work / "wait")
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, str(place), it.api.url),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert server.stdout is not None
    async with asyncio.timeout(180):
        assert await server.stdout.readline() == b"steered\n"
        await let_go(it)
        assert await server.wait() == -9
    store = await SqliteStore.open(place / "turnwire.db")
    await until_abandoned(store)
    await store.close()
    await it.start_again()


def words(it: Stage) -> list[tuple[str, int | None, bool]]:
    """Returns the messages of people in the log, their turns, and whether they went into one."""
    return [
        (block.text, message.turn_id, message.steered)
        for message in it.seen.view().messages
        for block in message.blocks
        if message.role == "user" and isinstance(block, TextView)
    ]
