"""Measures the engine: the memory of an idle conversation, and the cost of a delta.

- `idle`: bytes and tasks that each idle conversation keeps after a turn.
- `delta`: processor time of one delta, from the agent's event to a follower's frame.
- `saving`: processor time of turns with saved partials, compared with turns without.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
import tracemalloc
from collections.abc import Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path

from benchmarks.measuring import Measures, judged, run
from turnwire.agents.demo import DemoAgent
from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content
from turnwire.core.conversation.state import Options, Reply
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, EngineSettings, Talk
from turnwire.ports import Agent, AgentCapabilities, AgentSession, SessionStart
from turnwire.stores.sqlite import SqliteStore

CONVERSATIONS = 300
DELTAS = 5000
ROUNDS = 5
SAVED_PIECES = 320
PIECE_SECONDS = 0.01  # between two deltas
TALKS = 4  # concurrent conversations
PAIRS = 12
KIB = 1024
WHOSE = ("bench", "session-1", None, None)


class Talker:
    """An agent that repeats the same delta, with a number of deltas in each batch."""

    name = "talker"
    capabilities = AgentCapabilities()

    def __init__(self, together: int, pieces: int = DELTAS, pause: float = 0) -> None:
        self._together = together
        self._pieces = pieces
        self._pause = pause  # seconds before each delta, so that no two deltas are ready together

    def unavailable(self) -> str | None:
        """Returns None: the agent is always available."""
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        """Opens a session."""
        return TalkerSession(self._together, self._pieces, self._pause)


class TalkerSession(LocalSession):
    """A session of Talker."""

    native_session_id = "session-1"

    def __init__(self, together: int, pieces: int, pause: float) -> None:
        super().__init__()
        self._together = together
        self._pieces = pieces
        self._pause = pause

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        """Starts the answer."""
        self._start(self._talk(turn_uuid))

    async def _talk(self, message: str) -> None:
        block = TextBlock("", "in_progress")
        self._say(
            ev.TurnStarted(*WHOSE),
            ev.MessageStarted(*WHOSE, message, "bench"),
            ev.ContentStarted(*WHOSE, message, 0, block),
        )
        piece = ev.ContentDelta(*WHOSE, message, 0, "text", "some words ")
        for _ in range(self._pieces // self._together):
            await self._let_read(0)
            if self._pause:
                await asyncio.sleep(self._pause)
            self._say(*[piece] * self._together)
        whole = TextBlock("some words " * self._pieces, "completed")
        self._say(
            ev.AssistantMessage(*WHOSE, message, 0, [whole]),
            ev.ContentCompleted(*WHOSE, message, 0, whole),
            ev.MessageCompleted(*WHOSE, message, "end_turn"),
            ev.TurnCompleted(*WHOSE, "end_turn"),
            ev.ResultSummary(*WHOSE, "success", False),
        )

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None:
        """Does nothing: the agent asks no questions."""

    async def interrupt(self) -> None:
        """Does nothing: the agent ignores interrupts."""


async def turn_of(talk: Talk, text: str) -> None:
    """Sends a message, and follows the conversation until the turn has ended."""
    async with aclosing(talk.follow()) as frames:
        await anext(frames)
        await talk.send(text)
        async for frame in frames:
            if isinstance(frame, f.AssistantComplete):
                return


async def idle(folder: Path) -> bool:
    """Runs turns in many conversations, and measures what they keep when they are idle."""
    store = await SqliteStore.open(folder / "idle.db")
    settings = EngineSettings(agent_idle=0.001)
    async with Engine(store, {"demo": DemoAgent(delay=0)}, settings=settings) as engine:
        rules = Options(on_disconnect="continue")

        async def talked(count: int) -> None:
            for _ in range(count):
                await turn_of(await engine.create("demo", rules=rules), "hello")
            while others := asyncio.all_tasks() - {asyncio.current_task()}:
                await asyncio.wait(others, timeout=0.1)

        await talked(50)  # warm-up
        tracemalloc.start()
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        await talked(CONVERSATIONS)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        tasks = len(asyncio.all_tasks()) - 1
    await store.close()
    each = (after - before) / CONVERSATIONS
    print(f"  {CONVERSATIONS} idle conversations")
    met = judged("tasks", tasks, 0)
    return judged("bytes for each", each, 2 * KIB) and met


async def delta(folder: Path) -> bool:
    """Measures deltas with one follower in this process that only counts frames."""
    store = await SqliteStore.open(folder / "delta.db")
    agents: dict[str, Agent] = {"one": Talker(1), "many": Talker(50)}
    async with Engine(store, agents) as engine:
        for name, said in (("one", "a frame for each"), ("many", "50 that are ready together")):
            talk = await engine.create(name)
            taken = []
            for _ in range(ROUNDS):
                began = time.process_time()
                await turn_of(talk, "go")
                taken.append((time.process_time() - began) / DELTAS)
            print(f"  {said:28} {statistics.median(taken) * 1e6:6.1f} us   (for orientation)")
    await store.close()
    return True


async def saving(folder: Path) -> bool:
    """Alternates turns with and without saving, so that other load affects both."""
    talker = Talker(1, SAVED_PIECES, PIECE_SECONDS)
    engines: dict[bool, Engine] = {}
    async with AsyncExitStack() as stack:
        for is_saved in (True, False):
            store = await SqliteStore.open(folder / f"saving-{is_saved}.db")
            stack.push_async_callback(store.close)
            settings = EngineSettings(save_every=1.0 if is_saved else 0.0)
            engine = Engine(store, {"talker": talker}, settings=settings)
            engines[is_saved] = await stack.enter_async_context(engine)

        async def took(is_saved: bool) -> float:
            talks = [await engines[is_saved].create("talker") for _ in range(TALKS)]
            began = time.process_time()
            await asyncio.gather(*(turn_of(talk, "go") for talk in talks))
            return (time.process_time() - began) / TALKS

        await took(True)
        times: dict[bool, list[float]] = {True: [], False: []}
        for number in range(PAIRS):
            first = number % 2 == 0  # the order alternates from pair to pair
            for is_saved in (first, not first):
                times[is_saved].append(await took(is_saved))
    saved, not_saved = sum(times[True]), sum(times[False])
    ratios = [one / other for one, other in zip(times[True], times[False], strict=True)]
    each = f"{not_saved / PAIRS * 1e3:.1f} ms without saving, {saved / PAIRS * 1e3:.1f} ms with"
    print(f"  a turn of {SAVED_PIECES} pieces in {SAVED_PIECES * PIECE_SECONDS:.1f} s: {each}")
    print(f"  all turns together                {saved / not_saved:7.3f}   (for orientation)")
    return judged("processor time, median of pairs", statistics.median(ratios), 1.03)


MEASURES: Measures = {"idle": idle, "delta": delta, "saving": saving}


if __name__ == "__main__":
    sys.exit(asyncio.run(run(MEASURES, sys.argv[1:])))
