"""Measures what one client's long work costs other clients, in time and in memory.

- `others`: the 99th percentile of one client's round trips while others replay, export, import and
  list, compared with the same without them; the periods alternate.
- `pauses`: processor time of all threads between two turns of the event loop during the same work;
  it does not depend on other processes of the machine.
- `growth`: memory for an answer of 12 MB, at its peak and afterwards, compared with the size of the
  answer; and the additional memory for one client that does not read.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
import uvloop
from msgspec import structs

from benchmarks.engine import WHOSE, Talker, TalkerSession
from benchmarks.measuring import Measures, judged, run
from benchmarks.probe import opened, p99
from benchmarks.server import Serving, resident, serving, until_there_are
from benchmarks.store import Producer, bare_batches, bare_rows
from turnwire.agents.child import ChildAgent
from turnwire.agents.demo import DemoAgent
from turnwire.agents.process import plain_environment
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content, TextContent
from turnwire.ports import Agent, AgentSession, NewConversation, SessionStart
from turnwire.stores.sqlite import SqliteStore
from turnwire.stores.sqlite.connection import connect

MESSAGES = 20_000
CONVERSATIONS = 500
REPLAYS = 5
ROUNDS = 6
AT = "2026-01-01T12:00:00.000Z"
_ROOT = Path(__file__).parent.parent


class Helper:
    """A process of `benchmarks.probe`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def said(self, line: str) -> str:
        """Sends a line, and returns the reply."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n".encode())
        return (await self._process.stdout.readline()).decode().strip()


@asynccontextmanager
async def helper(role: str, token: str) -> AsyncIterator[Helper]:
    """Starts a helper process, and kills it at the end of the block.

    The process that loads the server has the lowest priority, so that its own processor use does
    not disturb the measured client.
    """
    before = ["nice", "-n", "19"] if role == "load" else []
    process = await asyncio.create_subprocess_exec(
        *[*before, sys.executable, "-m", "benchmarks.probe", role, token],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 24,
    )
    try:
        yield Helper(process)
    finally:
        process.kill()
        await process.wait()


# --- others --------------------------------------------------------------------------------------


async def filled(folder: Path) -> str:
    """Creates a log with one long and many short conversations; returns the long one's id."""
    path = folder / "turnwire.db"
    store = await SqliteStore.open(path)
    db = connect(str(path), busy_ms=1000, writes=True)
    name = ""
    for number in range(CONVERSATIONS + 1):
        row = await store.create(NewConversation(f"long-{number:032x}", "demo", AT))
        claim = await store.claim(row.conversation_id, "bench", now=0, lease=1)
        producer = Producer(store, claim)
        producer.state = structs.replace(producer.state, turn=None)
        name = name or row.conversation_id
        for _ in range(0, MESSAGES if number == 0 else 1, 1000):
            bare_batches(db.cursor(), bare_rows(producer.prepare(1000 if number == 0 else 2)))
        await store.release(claim)
    db.close()
    await store.close()
    return name


async def others(folder: Path) -> bool:
    """Times the heartbeats of one client while other clients work."""
    long = await filled(folder)
    export = folder / "long.jsonl"
    turnwire = [str(Path(sys.executable).parent / "turnwire")]
    exporting = await asyncio.create_subprocess_exec(
        *[*turnwire, "export", "--data-dir", str(folder), "--to", "jsonl", "--out", str(export)],
        long,
        stdout=subprocess.DEVNULL,
    )
    assert await exporting.wait() == 0
    async with AsyncExitStack() as held:
        limits = {"frames_per_second": 10_000.0, "frames_at_once": 10_000}
        server = await held.enter_async_context(
            serving(folder, {"demo": DemoAgent()}, requests_per_second=10_000.0, **limits)
        )
        asking = await held.enter_async_context(helper("ask", server.token))
        loading = await held.enter_async_context(helper("load", server.token))
        talk = await server.engine.create("demo")
        assert await asking.said(server.address(talk.id)) == "ready"
        met = []
        for what, work in {**_works(server, long), "import": ""}.items():
            command = [
                "nice",
                "-n",
                "19",
                *turnwire,
                "import",
                "--data-dir",
                str(folder),
                str(export),
            ]
            met.append(await _compared(what, asking, loading, work, command))
    return all(met)


def _works(server: Serving, long: str) -> dict[str, str]:
    """Returns the kinds of work of other clients, as commands for `benchmarks.probe`."""
    api = f"{server.url}/api"
    return {
        f"{REPLAYS} replays": f"replay {REPLAYS} {server.address(long)}",
        "export": f"fetch 1 {api}/conversations/{long}/export",
        "export as Markdown": f"fetch 1 {api}/conversations/{long}/export?format=markdown",
        "listing": f"fetch 1 {api}/conversations?limit=500",
        "page of messages": f"fetch 1 {api}/conversations/{long}/messages?limit=500",
        "search": f"fetch 1 {api}/search?q=the&limit=500",
    }


async def _compared(
    what: str, asking: Helper, loading: Helper, work: str, command: Sequence[str]
) -> bool:
    """Alternates periods with and without the work, and compares the round trips."""
    alone: list[float] = []
    disturbed: list[float] = []

    async def once() -> None:
        if work:
            assert await loading.said(work) == "done"
        else:
            process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.DEVNULL)
            assert await process.wait() == 0

    async def at_least(seconds: float, working: bool) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while working and loop.time() < end:
            await once()
        await asyncio.sleep(max(0.0, end - loop.time()))

    for number in range(ROUNDS + 1):
        for working, taken in ((False, alone), (True, disturbed)):
            gc.collect()
            assert await asking.said("start") == "started"
            await at_least(1.0, working)
            said = msgspec.json.decode(await asking.said("stop"))
            if number > 0:  # the first round is a warm-up
                taken += said
    before, after = p99(alone), p99(disturbed)
    print(
        f"  {what}: half within {statistics.median(alone):,.0f} and {statistics.median(disturbed):,.0f} us,"
        f" 99 of 100 within {before:,.0f} and {after:,.0f} us, all within {max(disturbed):,.0f} us"
    )
    return judged(what, after / before, 1.5)


# --- pauses --------------------------------------------------------------------------------------


async def pauses(folder: Path) -> bool:
    """Runs the event loop as fast as possible, and measures the processor time of each turn."""
    long = await filled(folder)
    met = []
    async with (
        serving(folder, {"demo": DemoAgent()}, requests_per_second=10_000.0) as server,
        helper("load", server.token) as loading,
    ):
        for what, work in _works(server, long).items():
            await loading.said(work)  # warm-up
            taken = await _turns(loading, work)
            half, most = _met_by(taken, 0.5), _met_by(taken, 0.99)
            print(
                f"  {what}: at a random moment, the current turn takes {half * 1e6:,.0f} us or less"
                f" half the time, and {most * 1e6:,.0f} us or less 99 times of 100"
            )
            met.append(judged(f"{what}: the longest, in ms", max(taken) * 1e3, 50))
    return all(met)


def _met_by(taken: list[float], part: float) -> float:
    """Returns the length of a turn that this share of random moments does not exceed."""
    left = part * sum(taken)
    for each in sorted(taken):
        left -= each
        if left <= 0:
            return each
    return max(taken)


async def _turns(loading: Helper, work: str) -> list[float]:
    """Returns the processor time of each turn of the event loop during the work, in seconds."""
    loop = asyncio.get_running_loop()
    taken: list[float] = []
    before, is_going = time.process_time(), True

    def turn() -> None:
        nonlocal before
        now = time.process_time()
        taken.append(now - before)
        before = now
        if is_going:
            loop.call_soon(turn)

    turn()
    await loading.said(work)
    is_going = False
    return taken


# --- growth --------------------------------------------------------------------------------------

_PIECE = "some words of a very long answer, which no person will ever read to its end; " * 4
_ANSWER = 12_000_000  # bytes
_SHORT = 1_000_000


class Essayist(Talker):
    """An agent with long answers; the second message is the longest."""

    name = "essayist"

    def __init__(self) -> None:
        super().__init__(10)

    async def open(self, start: SessionStart) -> AgentSession:
        """Opens a session."""
        return _Essay()


class _Essay(TalkerSession):
    """A session that replies to `say N` with an answer of N bytes."""

    def __init__(self) -> None:
        super().__init__(10, 0, 0)
        self._long = 0

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Starts the answer."""
        [asked] = content
        assert isinstance(asked, TextContent)
        self._long = int(asked.text)
        self._start(self._talk(turn_uuid))

    async def _talk(self, message: str) -> None:
        block = TextBlock("", "in_progress")
        self._say(
            ev.TurnStarted(*WHOSE),
            ev.MessageStarted(*WHOSE, message, "bench"),
            ev.ContentStarted(*WHOSE, message, 0, block),
        )
        pieces = self._long // len(_PIECE)
        for _ in range(pieces):
            await self._let_read(16)
            self._say(ev.ContentDelta(*WHOSE, message, 0, "text", _PIECE))
        whole = TextBlock(_PIECE * pieces, "completed")
        await self._let_read(0)
        self._say(ev.AssistantMessage(*WHOSE, message, 0, [whole]))
        # Claude Code also sends the same text in two consecutive lines.
        await self._let_read(0)
        self._say(ev.ContentCompleted(*WHOSE, message, 0, whole))
        await self._let_read(0)
        self._say(
            ev.MessageCompleted(*WHOSE, message, "end_turn"),
            ev.TurnCompleted(*WHOSE, "end_turn"),
            ev.ResultSummary(*WHOSE, "success", False),
        )


def _peak() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the kernel does not report the peak memory")


def _count_the_peak_from_here() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _essayist() -> Agent:
    env = {**plain_environment(), "PYTHONPATH": str(_ROOT)}
    return ChildAgent("benchmarks.others:Essayist", env=env)


async def growth(folder: Path) -> bool:
    """Sends an answer of 12 MB to one client that reads, then also to one that does not."""
    met = []
    async with serving(folder, {"essayist": _essayist()}) as server:
        await _grown(server, _SHORT, slow=False)  # warm-up
        with_one = await _grown(server, _ANSWER, slow=False)
        with_slow = await _grown(server, _ANSWER, slow=True)
    for what, (high, after) in (("one client", with_one), ("one more, slow", with_slow)):
        met.append(judged(f"{what}: highest, times", high / _ANSWER, 3))
        met.append(judged(f"{what}: afterwards, times", after / _ANSWER, 0.25))
    more = max(0, with_slow[0] - with_one[0])
    met.append(judged("MB more for a slow reader", more / 1e6, 2))
    return all(met)


async def _grown(server: Serving, size: int, *, slow: bool) -> tuple[int, int]:
    """Returns the bytes by which this process has grown: at its peak, and afterwards."""
    talk = await server.engine.create("essayist")
    address = server.address(talk.id)
    async with AsyncExitStack() as held:
        stalled = [opened(address, server.token, upgrade=True, receive=4096)] if slow else []
        loading = await held.enter_async_context(helper("watch", server.token))
        assert await loading.said(address) == "there"
        gc.collect()
        before = resident()
        _count_the_peak_from_here()
        await talk.send(str(size))
        assert await loading.said("wait") == "seen"
        high = _peak() - before
        for sock in stalled:
            sock.close()
    await asyncio.to_thread(until_there_are, 0, server)
    await asyncio.sleep(5)  # freed memory is returned every two seconds
    gc.collect()
    return high, resident() - before


MEASURES: Measures = {"others": others, "pauses": pauses, "growth": growth}


if __name__ == "__main__":
    sys.exit(uvloop.run(run(MEASURES, sys.argv[1:])))
