"""Measures what Turnwire adds to Codex, with the real program and a scripted model.

- `cpu`: a turn of 400 deltas, compared with a bare client of the app-server; both include Codex.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.added_cpu import ROUNDS, WARM, Side, added_cpu, answer_turns
from benchmarks.measuring import Measures, run
from turnwire.agents.codex import CodexAgent
from turnwire.agents.codex.installation import find_codex
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import codex_environment

DELTAS = 400
_models: set[int] = set()  # process ids of scripted models


@asynccontextmanager
async def model(folder: Path) -> AsyncIterator[dict[str, str]]:
    """Starts a model that says numbered words, each as one delta. Its cost is not measured."""
    text = "".join(f"w{number:04} " for number in range(DELTAS))
    block = {"type": "text", "text": text, "cuts": DELTAS, "delay": 0.001}
    script = folder / "script.json"
    replies = [{"type": "say", "blocks": [block]}] * (WARM + ROUNDS)
    script.write_text(json.dumps({"replies": replies}))
    command = [sys.executable, "-m", "turnwire.testing.model_api", str(script)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    _models.add(process.pid)
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode().strip()
        yield codex_environment(line.partition("=")[2], folder)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def bare(folder: Path, env: dict[str, str]) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Runs turns with a client that reads every line as JSON, and does nothing else."""
    program = find_codex()
    assert program is not None, "the extra codex is not installed"
    process = await asyncio.create_subprocess_exec(
        *(program, "app-server"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env},
        cwd=folder,
        limit=1 << 24,
    )
    assert process.stdin is not None
    stdin, stdout = process.stdin, process.stdout
    assert stdout is not None

    async def until(holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            message: dict[str, Any] = json.loads(await stdout.readline())
            if holds(message):
                return message

    async def request(number: int, method: str, **params: Any) -> dict[str, Any]:
        stdin.write(json.dumps({"id": number, "method": method, "params": params}).encode() + b"\n")
        return await until(lambda message: message.get("id") == number)

    about = {"name": "bench", "title": "bench", "version": "1"}
    await request(1, "initialize", clientInfo=about, capabilities={})
    stdin.write(b'{"method": "initialized"}\n')
    opened = await request(2, "thread/start", cwd=str(folder))
    thread = opened["result"]["thread"]["id"]

    async def turn() -> None:
        said = [{"type": "text", "text": "go", "text_elements": []}]
        await request(3, "turn/start", threadId=thread, input=said)
        await until(lambda message: message.get("method") == "turn/completed")

    try:
        yield turn
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def ours(folder: Path, env: dict[str, str]) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Runs the same turns with a log, frames and a follower."""
    store = await SqliteStore.open(folder / "codex.db")
    async with Engine(store, {"codex": CodexAgent(env=env)}) as engine:
        talk = await engine.create("codex", cwd=str(folder))

        async def turn() -> None:
            sent = False
            async for frame in talk.follow(tail=0):
                if not sent:
                    sent = True
                    await talk.send("go")
                elif isinstance(frame, f.AssistantComplete):
                    break

        yield turn
    await store.close()


SIDES = {"_bare": bare, "_ours": ours}


async def take_turns(who: str, folder: Path) -> None:
    """Runs one turn for each line of standard input, and prints the time it took."""
    async with model(folder) as env, SIDES[who](folder, env) as turn:
        await answer_turns(turn, "codex", _models)


async def cpu(folder: Path) -> bool:
    """Compares turns of both variants."""
    bare_side, our_side = (Side("benchmarks.codex", who) for who in SIDES)
    return added_cpu(bare_side, our_side, deltas=DELTAS, program="Codex")


MEASURES: Measures = {"cpu": cpu}


if __name__ == "__main__":
    if sys.argv[1:2] in ([side] for side in SIDES):
        with tempfile.TemporaryDirectory() as place:
            asyncio.run(take_turns(sys.argv[1], Path(place)))
    else:
        sys.exit(asyncio.run(run(MEASURES, sys.argv[1:])))
