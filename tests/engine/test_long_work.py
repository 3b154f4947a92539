"""Long work on the loop yields to other tasks, and large answers are not kept."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tests.engine.helpers.watcher import PATIENCE
from turnwire.agents.local import LocalSession
from turnwire.core import events as ev
from turnwire.core.blocks import TextBlock
from turnwire.core.content import Content, TextContent
from turnwire.core.conversation.state import Reply
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine
from turnwire.engine.export.jsonl import lines_of
from turnwire.engine.export.markdown import markdown_of
from turnwire.long_work import LongWork
from turnwire.ports import (
    AgentCapabilities,
    AgentSession,
    NewConversation,
    SessionStart,
    StoredEntry,
)
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.store_samples import begin

AT = "2026-01-01T12:00:00.000Z"
ENTRIES = 3_000
MOST = 250  # entries between two turns of the loop; a page of the log was 500


async def filled(path: Path) -> SqliteStore:
    """A store with a conversation `c` of many entries."""
    store = await SqliteStore.open(path / "log.db")
    talk = await begin(store)
    for start in range(0, ENTRIES, 500):
        await talk.say(*(f"entry {number}" for number in range(start, start + 500)))
    await store.release(talk.claim)
    return store


class Probe:
    """Counts the steps of long work between two turns of the loop."""

    def __init__(self) -> None:
        self.most = 0
        self.all = 0
        self._since = 0

    def did(self) -> None:
        """Adds another entry."""
        self.all += 1
        self._since += 1
        self.most = max(self.most, self._since)

    async def watch(self, work: Callable[[], Awaitable[object]]) -> None:
        """Takes a turn whenever the loop gives one, until the work is done."""
        done = asyncio.ensure_future(work())
        while not done.done():
            self._since = 0
            await asyncio.sleep(0)
        await done


async def replay(engine: Engine, probe: Probe) -> None:
    talk = await engine.open("c")
    async with aclosing(talk.follow()) as frames:
        async for frame in frames:
            if isinstance(frame, f.MessageReplay):
                probe.did()
            elif isinstance(frame, f.SessionState):
                return


def test_a_replay_yields_to_other_tasks(tmp_path: Path) -> None:
    async def run() -> None:
        store, probe = await filled(tmp_path), Probe()
        async with Engine(store, {}) as engine:
            await probe.watch(lambda: replay(engine, probe))
        assert probe.all == ENTRIES
        assert probe.most < MOST
        await store.close()

    asyncio.run(run())


def test_five_replays_together_take_no_more_of_the_loop_than_one(tmp_path: Path) -> None:
    async def run() -> None:
        store, probe = await filled(tmp_path), Probe()
        async with Engine(store, {}) as engine:
            await probe.watch(lambda: asyncio.gather(*(replay(engine, probe) for _ in range(5))))
        assert probe.all == 5 * ENTRIES
        assert probe.most < MOST
        await store.close()

    asyncio.run(run())


def test_an_export_yields_to_other_tasks(tmp_path: Path) -> None:
    async def run() -> None:
        store = await filled(tmp_path)
        row = await store.conversation("c")
        assert row is not None

        async def counted(items: AsyncIterator[object], probe: Probe) -> None:
            async for _ in items:
                probe.did()

        for items in (lines_of(store, row), markdown_of(store, row)):
            probe = Probe()
            await probe.watch(lambda: counted(items, probe))  # noqa: B023
            assert probe.all > ENTRIES
            assert probe.most < MOST
        await store.close()

    asyncio.run(run())


def test_long_work_takes_turns() -> None:
    """No work is skipped, and cancelled work leaves no gap."""

    async def run() -> None:
        done: list[str] = []

        async def work(name: str) -> None:
            mine = LongWork()
            for _ in range(3):
                await mine.give_way()
                done.append(name)

        tasks = [asyncio.create_task(work(name)) for name in "abcd"]
        await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert {"a", "b", "d"} == set(done[:5]), (
            "no work has it three times before each had it once"
        )
        assert [done.count(name) for name in "abd"] == [3, 3, 3]

    asyncio.run(run())


def test_a_page_of_the_log_is_bounded_in_bytes(tmp_path: Path) -> None:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "log.db")
        talk = await begin(store)
        for _ in range(8):
            await talk.say("x" * 1_000_000)
        sizes: list[int] = []
        read = store.entries

        async def entries(*given: object, **options: object) -> list[StoredEntry]:
            page = await read(*given, **options)  # type: ignore[arg-type]
            sizes.append(len(page))
            return page

        store.entries = entries  # type: ignore[method-assign]
        async with Engine(store, {}) as engine:
            await replay(engine, Probe())
        assert set(sizes) == {1}, "each of them is more than a page may have"
        await store.close()

    asyncio.run(run())


def test_reading_many_rows_yields_to_other_tasks(tmp_path: Path) -> None:
    async def run() -> None:
        store = await filled(tmp_path)
        for number in range(300):
            await store.create(NewConversation(f"n{number}", "demo", AT))
        reads: dict[str, Callable[[], Awaitable[list[Any]]]] = {
            "entries": lambda: store.entries("c", limit=1_000),
            "conversations": lambda: store.conversations(limit=300),
            "hits": lambda: store.search("entry", limit=500),
        }
        for name, read in reads.items():
            fetched = asyncio.Event()
            turns, found = 0, 0

            async def wait(read: Callable[[], Awaitable[list[Any]]] = read) -> int:
                return len(await read())

            async def fetch(
                query: Callable[[Any], Any],
                real: Callable[[Any], Awaitable[Any]] = store._reader.read,
                fetched: asyncio.Event = fetched,
            ) -> Any:
                rows = await real(query)
                fetched.set()
                return rows

            store._reader.read = fetch  # type: ignore[method-assign]
            reading = asyncio.create_task(wait())
            await fetched.wait()
            while not reading.done():
                turns += 1
                await asyncio.sleep(0)
            found = await reading
            assert found >= 300, name
            assert turns > 3, f"{name}: its rows are decoded in slices"
        await store.close()

    asyncio.run(run())


# --- memory ---------------------------------------------------------------------------------------

LONG = 4_000_000
WHOSE = ("test", "session-1", None, None)


class Essay(LocalSession):
    native_session_id = "session-1"

    async def prompt(self, content: list[Content], *, turn_uuid: str) -> None:
        [asked] = content
        assert isinstance(asked, TextContent)
        whole = TextBlock("x" * int(asked.text), "completed")
        self._say(
            ev.TurnStarted(*WHOSE),
            ev.MessageStarted(*WHOSE, turn_uuid, "test"),
            ev.AssistantMessage(*WHOSE, turn_uuid, 0, [whole]),
            ev.MessageCompleted(*WHOSE, turn_uuid, "end_turn"),
            ev.TurnCompleted(*WHOSE, "end_turn"),
            ev.ResultSummary(*WHOSE, "success", False),
        )

    async def deliver(self, replies: Sequence[Reply], *, resumed: bool) -> None: ...

    async def interrupt(self) -> None: ...


class Essayist:
    name = "essayist"
    capabilities = AgentCapabilities()

    def unavailable(self) -> str | None:
        return None

    async def open(self, start: SessionStart) -> AgentSession:
        return Essay()


@pytest.mark.needs_sqlite(reason="measures the memory of one store")
def test_a_published_long_answer_is_not_kept_in_memory(tmp_path: Path) -> None:
    async def run() -> None:
        store = await SqliteStore.open(tmp_path / "log.db")
        async with Engine(store, {"essayist": Essayist()}) as engine:
            talk = await engine.create("essayist")
            before = 0
            for size in (1_000, LONG):  # one-time work happens in the first round
                gc.collect()
                before = tracemalloc.get_traced_memory()[0]
                tracemalloc.reset_peak()
                async with aclosing(talk.follow(tail=0)) as frames:
                    await anext(frames)
                    await talk.send(str(size))
                    async for frame in frames:
                        if isinstance(frame, f.AssistantComplete):
                            break
                    del frame
            highest = tracemalloc.get_traced_memory()[1]
            async with asyncio.timeout(PATIENCE):  # for tasks that still work with it
                while tracemalloc.get_traced_memory()[0] - before > LONG / 4:
                    await asyncio.to_thread(gc.collect)
            print("RATIO", (highest - before) / LONG)
            assert highest - before < 3 * LONG
        await store.close()

    tracemalloc.start()
    try:
        asyncio.run(run())
    finally:
        tracemalloc.stop()
