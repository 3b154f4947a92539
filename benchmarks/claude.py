"""Measures what Turnwire adds to Claude Code, with the real program and a scripted model.

- `latency`: from a line of the program to a follower's frame, compared with the `replay` agent.
- `cold`: from a message to the first word, in a conversation whose program has to be started.
- `cpu`: a turn of 400 deltas, compared with a bare ClaudeSDKClient; both include the program.
- `memory`: a conversation with a live program, and one without.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.added_cpu import ROUNDS, WARM, Side, added_cpu, answer_turns
from benchmarks.measuring import Measures, judged, run
from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.session import ClaudeSession
from turnwire.agents.guard import descendants_of, memory_of, running
from turnwire.agents.local import LocalSession
from turnwire.agents.replay import ReplayAgent
from turnwire.core import events as ev
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk
from turnwire.ports import Agent
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.model_api import claude_environment

DELTAS = 400
CONVERSATIONS = 3
MIB = 1 << 20
_models: set[int] = set()  # process ids of scripted models
_WORD = re.compile(rb"w(\d{4})")


# --- the model ----------------------------------------------------------------------------------


@asynccontextmanager
async def model(folder: Path, *, replies: int, delay: float) -> AsyncIterator[dict[str, str]]:
    """Starts a model that says numbered words, each as one delta. Its cost is not measured."""
    text = "".join(f"w{number:04} " for number in range(DELTAS))
    block = {"type": "text", "text": text, "cuts": DELTAS, "delay": delay}
    script = folder / "script.json"
    script.write_text(json.dumps({"replies": [{"type": "say", "blocks": [block]}] * replies}))
    command = [sys.executable, "-m", "turnwire.testing.model_api", str(script)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    _models.add(process.pid)
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode().strip()
        yield claude_environment(line.removeprefix("ANTHROPIC_BASE_URL="), folder)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def engine_with(folder: Path, agent: Agent) -> AsyncIterator[Engine]:
    """Opens an engine on a file."""
    store = await SqliteStore.open(folder / f"{agent.name}.db")
    async with Engine(store, {agent.name: agent}) as engine:
        yield engine
    await store.close()


def claude(env: dict[str, str], **more: Any) -> ClaudeAgent:
    """Returns a Claude agent with as few tools as possible: their cost is not Turnwire's."""
    return ClaudeAgent(
        {"model": "claude-sonnet-4-5", "system_prompt": "x"}, env=env, titles=False, **more
    )


def bare_options(folder: Path, env: dict[str, str], **more: Any) -> Any:
    """Returns the same for a bare SDK client."""
    from claude_agent_sdk import ClaudeAgentOptions

    return ClaudeAgentOptions(
        model="claude-sonnet-4-5",
        system_prompt="x",
        cwd=folder,
        env=env,
        include_partial_messages=True,
        **more,
    )


# --- latency ------------------------------------------------------------------------------------


async def heard(talk: Talk) -> dict[int, float]:
    """Runs one turn, and returns the arrival time of each word."""
    there: dict[int, float] = {}
    async for frame in talk.follow():
        if isinstance(frame, f.SessionState) and not there:
            if not frame.payload.running:
                await talk.send("go")
        elif isinstance(frame, f.AssistantChunk) and frame.payload.partial:
            now = time.perf_counter()
            for word in _WORD.findall(frame.payload.text.encode()):
                there.setdefault(int(word), now)
        elif isinstance(frame, f.AssistantComplete):
            break
    return there


def taken(said: dict[int, float], there: dict[int, float]) -> float:
    """Returns the median latency of the words of a turn, in seconds."""
    return statistics.median(there[word] - said[word] for word in there.keys() & said.keys())


class Taps:
    """Records when each word arrived, as a line of the program or as an event of `replay`."""

    def __init__(self) -> None:
        self.said: dict[int, float] = {}
        self._heard, self._say = ClaudeSession._heard, LocalSession._say

    @contextmanager
    def live(self) -> Iterator[None]:
        """Records the lines of live sessions."""

        def tapped(session: ClaudeSession, lines: list[bytes]) -> list[bytes]:
            now = time.perf_counter()
            for line in lines:
                if b"text_delta" in line and (word := _WORD.search(line)):
                    self.said.setdefault(int(word[1]), now)
            return self._heard(session, lines)

        self.said.clear()
        ClaudeSession._heard = tapped  # type: ignore[method-assign, assignment]
        yield
        ClaudeSession._heard = self._heard  # type: ignore[method-assign]

    @contextmanager
    def replayed(self) -> Iterator[None]:
        """Records the events of replayed sessions."""

        def handed_out(session: LocalSession, *events: ev.NormalizedStreamEvent) -> None:
            now = time.perf_counter()
            for each in events:
                if isinstance(each, ev.ContentDelta) and (word := _WORD.search(each.text.encode())):
                    self.said.setdefault(int(word[1]), now)
            self._say(session, *events)

        self.said.clear()
        LocalSession._say = handed_out  # type: ignore[method-assign, assignment]
        yield
        LocalSession._say = self._say  # type: ignore[method-assign]


async def latency(folder: Path) -> bool:
    """Alternates live turns with replays of their recordings, and compares the latencies."""
    taps = Taps()
    pairs: list[tuple[float, float]] = []
    async with model(folder, replies=WARM + ROUNDS, delay=0.005) as env:
        for number in range(WARM + ROUNDS):
            place = folder / str(number)
            place.mkdir()
            live = claude(env, record=place / "tape")
            async with engine_with(place, live) as engine:
                talk = await engine.create("claude", cwd=str(folder))
                with taps.live():
                    ours = taken(taps.said, await heard(talk))
            [tape] = (place / "tape").iterdir()
            async with engine_with(place, ReplayAgent(tape)) as engine:
                talk = await engine.create("replay")
                with taps.replayed():
                    pairs.append((ours, taken(taps.said, await heard(talk))))
    pairs = pairs[WARM:]
    ours, theirs = (statistics.median(side) * 1e6 for side in zip(*pairs, strict=True))
    print(f"  latency of a word: live {ours:.0f} us, replayed {theirs:.0f} us")
    return judged("live / replayed", statistics.median(a / b for a, b in pairs), 1.3)


# --- the first word of a cold conversation ------------------------------------------------------


Cold: TypeAlias = Callable[[], Awaitable[float]]


@asynccontextmanager
async def cold_bare(folder: Path, env: dict[str, str], **more: Any) -> AsyncIterator[Cold]:
    """Starts a bare SDK client for each message, as a short script does."""
    from claude_agent_sdk import ClaudeSDKClient, StreamEvent

    options = bare_options(folder, env, **more)

    async def turn() -> float:
        began, first = time.perf_counter(), 0.0
        async with ClaudeSDKClient(options) as client:
            await client.query("go")
            async for message in client.receive_response():
                is_piece = isinstance(message, StreamEvent) and "delta" in message.event
                if is_piece and not first:
                    first = time.perf_counter()
        return first - began

    yield turn


@asynccontextmanager
async def cold_with_tool(folder: Path, env: dict[str, str]) -> AsyncIterator[Cold]:
    """The same, with a tool of its own: Turnwire always has one, for questions to people."""
    from claude_agent_sdk import create_sdk_mcp_server, tool

    @tool("request_input", "Asks a person.", {"question": str})  # type: ignore[untyped-decorator]
    async def ask(_: Any) -> dict[str, Any]:
        return {}

    server = create_sdk_mcp_server("turnwire", tools=[ask])
    async with cold_bare(folder, env, mcp_servers={"turnwire": server}) as turn:
        yield turn


@asynccontextmanager
async def cold_ours(folder: Path, env: dict[str, str]) -> AsyncIterator[Cold]:
    """Starts a conversation for each message, in a server that runs."""
    agent = claude(env)
    async with engine_with(folder, agent) as engine:

        async def turn() -> float:
            began = time.perf_counter()
            talk = await engine.create("claude", cwd=str(folder))
            there = await heard(talk)
            await engine.remove(talk.id)
            return min(there.values()) - began

        yield turn


COLD_SIDES: dict[str, Callable[..., AbstractAsyncContextManager[Cold]]] = {
    "_cold_bare": cold_bare,
    "_cold_with_tool": cold_with_tool,
    "_cold_ours": cold_ours,
}


async def take_cold_turns(who: str, folder: Path) -> None:
    """Runs one cold turn for each line of standard input, and prints its seconds."""
    async with (
        model(folder, replies=WARM + ROUNDS, delay=0.0) as env,
        COLD_SIDES[who](folder, env) as turn,
    ):
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps([await turn(), 0.0]), flush=True)


async def cold(folder: Path) -> bool:
    """Alternates cold turns of the variants; uses the medians of their ratios."""
    sides = [Side("benchmarks.claude", who) for who in COLD_SIDES]
    rounds = [[side.turn().own for side in sides] for _ in range(WARM + ROUNDS)][WARM:]
    for side in sides:
        side.end()
    plain, with_tool, ours = (statistics.median(each) * 1e3 for each in zip(*rounds, strict=True))
    print(f"  first word: bare {plain:.0f} ms, with a tool {with_tool:.0f} ms, ours {ours:.0f} ms")
    ratio = statistics.median(ours / with_tool for _, with_tool, ours in rounds)
    print(f"  {'ours / bare with a tool':<34}{ratio:7.2f}")
    ratio = statistics.median(ours / plain for plain, _, ours in rounds)
    return judged("ours / bare", ratio, 1.05)


# --- processor time -----------------------------------------------------------------------------


@asynccontextmanager
async def bare(folder: Path, env: dict[str, str]) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Runs turns with a bare SDK client that reads every message, and does nothing else."""
    from claude_agent_sdk import ClaudeSDKClient

    async with ClaudeSDKClient(bare_options(folder, env)) as client:

        async def turn() -> None:
            await client.query("go")
            async for _ in client.receive_response():
                pass

        yield turn


@asynccontextmanager
async def ours(folder: Path, env: dict[str, str]) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Runs the same turns with a log, frames and a follower."""
    async with engine_with(folder, claude(env)) as engine:
        talk = await engine.create("claude", cwd=str(folder))

        async def turn() -> None:
            sent = False
            async for frame in talk.follow(tail=0):
                if not sent:
                    sent = True
                    await talk.send("go")
                elif isinstance(frame, f.AssistantComplete):
                    break

        yield turn


SIDES = {"_bare": bare, "_ours": ours}


async def take_turns(who: str, folder: Path) -> None:
    """Runs one turn for each line of standard input, and prints the time it took."""
    # The delay is short enough for batches, and long enough to keep deltas separate.
    async with (
        model(folder, replies=WARM + ROUNDS, delay=0.001) as env,
        SIDES[who](folder, env) as turn,
    ):
        await answer_turns(turn, "claude", _models)


async def cpu(folder: Path) -> bool:
    """Compares turns of both variants."""
    bare_side, our_side = (Side("benchmarks.claude", who) for who in SIDES)
    return added_cpu(bare_side, our_side, deltas=DELTAS, program="Claude Code")


# --- memory -------------------------------------------------------------------------------------


def our_memory() -> int:
    """Returns the memory of this process in bytes."""
    return memory_of([running()[os.getpid()]])


async def memory(folder: Path) -> bool:
    """Prints the memory for orientation only: most of it belongs to the program."""
    async with (
        model(folder, replies=CONVERSATIONS + 1, delay=0.0) as env,
        engine_with(folder, claude(env)) as engine,
    ):
        await heard(await engine.create("claude", cwd=str(folder)))  # warm-up
        before = our_memory()
        for _ in range(CONVERSATIONS):
            await heard(await engine.create("claude", cwd=str(folder)))
        below = [p for p in descendants_of(os.getpid(), running()) if p.name == "claude"]
        guards = [running()[p.parent] for p in below]
        program = memory_of(below) / len(below) / MIB
        guard = memory_of(guards) / len(guards) / MIB
        own = (our_memory() - before) / CONVERSATIONS / MIB
    print(f"  with a program: {program:.0f} MiB of Claude Code, {guard:.0f} MiB of its guard,")
    print(f"  and {own:.1f} MiB of ours; without one: see benchmarks.engine idle")
    return True


MEASURES: Measures = {
    "latency": latency,
    "cold": cold,
    "cpu": cpu,
    "memory": memory,
}


if __name__ == "__main__":
    if sys.argv[1:2] in ([side] for side in SIDES):
        with tempfile.TemporaryDirectory() as place:
            asyncio.run(take_turns(sys.argv[1], Path(place)))
    elif sys.argv[1:2] in ([side] for side in COLD_SIDES):
        with tempfile.TemporaryDirectory() as place:
            asyncio.run(take_cold_turns(sys.argv[1], Path(place)))
    else:
        sys.exit(asyncio.run(run(MEASURES, sys.argv[1:])))
