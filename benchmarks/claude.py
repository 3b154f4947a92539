"""What Turnwire adds to Claude Code: the real program, with a scripted model in a process of its own.

latency  from a line of the program to a follower's frame, beside the same with the `replay` agent
cpu      a turn of 400 deltas, beside the same with a bare ClaudeSDKClient, the program included
memory   of a conversation with a live program, and of one without
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
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.store import judged
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
ROUNDS = 10
WARM = 2  # rounds before that, in which programs become fast
CONVERSATIONS = 3
MIB = 1 << 20
_TICKS = os.sysconf("SC_CLK_TCK")
_models: set[int] = set()  # the processes that stand in for a model
_WORD = re.compile(rb"w(\d{4})")


# --- the model ----------------------------------------------------------------------------------


@asynccontextmanager
async def model(folder: Path, *, replies: int, delay: float) -> AsyncIterator[dict[str, str]]:
    """A model that says numbered words, each a delta. What it costs is not measured."""
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
    """An engine on a file."""
    store = await SqliteStore.open(folder / f"{agent.name}.db")
    async with Engine(store, {agent.name: agent}) as engine:
        yield engine
    await store.close()


def claude(env: dict[str, str], **more: Any) -> ClaudeAgent:
    """Claude, with as few tools as will do: what they cost is not ours."""
    return ClaudeAgent({"model": "claude-sonnet-4-5", "system_prompt": "x"}, env=env, **more)


# --- latency ------------------------------------------------------------------------------------


async def heard(talk: Talk) -> dict[int, float]:
    """One turn; when each word was there."""
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
    """The way of a word, in seconds: the lower quartile, since the rest waits for a processor."""
    ways = [there[word] - said[word] for word in there.keys() & said.keys()]
    return statistics.quantiles(ways, n=4)[0]


async def latency(folder: Path) -> bool:
    """The same words, live and from a recording of them."""
    said: dict[int, float] = {}
    tap, hand_out = ClaudeSession._heard, LocalSession._say

    def tapped(self: ClaudeSession, lines: list[bytes]) -> list[bytes]:
        now = time.perf_counter()
        for line in lines:
            if b"text_delta" in line and (word := _WORD.search(line)):
                said.setdefault(int(word[1]), now)
        return tap(self, lines)

    def handed_out(self: LocalSession, *events: ev.NormalizedStreamEvent) -> None:
        now = time.perf_counter()
        for event in events:
            if isinstance(event, ev.ContentDelta) and (word := _WORD.search(event.text.encode())):
                said.setdefault(int(word[1]), now)
        hand_out(self, *events)

    async with model(folder, replies=1, delay=0.005) as env:
        ClaudeSession._heard = tapped  # type: ignore[method-assign]
        async with engine_with(folder, claude(env, record=folder / "tape")) as engine:
            live = taken(said, await heard(await engine.create("claude", cwd=str(folder))))
        ClaudeSession._heard = tap  # type: ignore[method-assign]
    [tape] = (folder / "tape").iterdir()
    said.clear()
    LocalSession._say = handed_out  # type: ignore[method-assign]
    async with engine_with(folder, ReplayAgent(tape)) as engine:
        replayed = taken(said, await heard(await engine.create("replay")))
    LocalSession._say = hand_out  # type: ignore[method-assign]
    print(f"  a word's way: live {live * 1e6:.0f} us, replayed {replayed * 1e6:.0f} us")
    return judged("live / replayed", live / replayed, 1.3)


# --- processor time -----------------------------------------------------------------------------


Spent = tuple[float, float]


def spent() -> Spent:
    """Seconds of processor time: of this process with its guards, and of Claude Code."""
    own, program = time.process_time(), 0.0
    for process in descendants_of(os.getpid(), running()):
        if process.pid in _models:
            continue
        stat = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        seconds = (int(stat[11]) + int(stat[12])) / _TICKS
        if process.name == "claude":
            program += seconds
        else:
            own += seconds
    return own, program


def since(before: Spent) -> Spent:
    """What was spent since then."""
    now = spent()
    return now[0] - before[0], now[1] - before[1]


async def bare_turns(folder: Path, env: dict[str, str]) -> list[Spent]:
    """What people write without Turnwire: every message is taken, and that is all."""
    from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient

    options = ClaudeAgentOptions(
        model="claude-sonnet-4-5",
        system_prompt="x",
        cwd=folder,
        env=env,
        include_partial_messages=True,
    )
    costs = []
    async with ClaudeSDKClient(options) as client:
        for _ in range(WARM + ROUNDS):
            began = spent()
            await client.query("go")
            async for _ in client.receive_response():
                pass
            costs.append(since(began))
    return costs[WARM:]


async def our_turns(folder: Path, env: dict[str, str]) -> list[Spent]:
    """The same with a log, frames and a follower."""
    costs = []
    async with engine_with(folder, claude(env)) as engine:
        talk = await engine.create("claude", cwd=str(folder))
        for _ in range(WARM + ROUNDS):
            began = spent()
            sent = False
            async for frame in talk.follow(tail=0):
                if not sent:
                    sent = True
                    await talk.send("go")
                elif isinstance(frame, f.AssistantComplete):
                    break
            costs.append(since(began))
    return costs[WARM:]


async def cpu(folder: Path) -> bool:
    """Each in a process of its own, so that neither pays for the other.

    What we add is what our process takes more than theirs. Claude Code itself does the same work in
    both, and what that costs goes up and down by more than all of ours.
    """
    medians: dict[str, Spent] = {}
    for who in ("bare", "ours"):
        command = [sys.executable, "-m", "benchmarks.claude", f"_{who}"]
        child = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
        assert child.stdout is not None
        said = await child.stdout.read()
        await child.wait()
        own, program = zip(*json.loads(said), strict=True)
        medians[who] = (statistics.median(own), statistics.median(program))
        print(
            f"  a turn of {DELTAS} deltas, {who}: {medians[who][0] * 1e3:.0f} ms, "
            f"and {medians[who][1] * 1e3:.0f} ms of Claude Code"
        )
    bare, ours = medians["bare"], medians["ours"]
    return judged("added / bare", (ours[0] - bare[0]) / sum(bare), 0.15)


async def _turns(who: str, folder: Path) -> list[Spent]:
    # So fast that it comes in batches, so slow that a delta is a delta.
    async with model(folder, replies=WARM + ROUNDS, delay=0.001) as env:
        return await (bare_turns if who == "bare" else our_turns)(folder, env)


# --- memory -------------------------------------------------------------------------------------


def our_memory() -> int:
    """Bytes of this process."""
    return memory_of([running()[os.getpid()]])


async def memory(folder: Path) -> bool:
    """For orientation: the program is not ours."""
    async with (
        model(folder, replies=CONVERSATIONS + 1, delay=0.0) as env,
        engine_with(folder, claude(env)) as engine,
    ):
        await heard(await engine.create("claude", cwd=str(folder)))  # what is made once is made
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


MEASURES: dict[str, Callable[[Path], Awaitable[bool]]] = {
    "latency": latency,
    "cpu": cpu,
    "memory": memory,
}


async def run(names: list[str]) -> int:
    """Those that were named, or all; 1 if a target is missed."""
    met = []
    for name in [name for name in MEASURES if not names or name in names]:
        print(f"{name}:")
        with tempfile.TemporaryDirectory() as folder:
            met.append(await MEASURES[name](Path(folder)))
    return 0 if all(met) else 1


if __name__ == "__main__":
    if sys.argv[1:] in (["_bare"], ["_ours"]):
        with tempfile.TemporaryDirectory() as place:
            print(json.dumps(asyncio.run(_turns(sys.argv[1][1:], Path(place)))))
    else:
        sys.exit(asyncio.run(run(sys.argv[1:])))
