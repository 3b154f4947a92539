"""Servers that hang while others take over, and agents that are killed, hang or flood."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.watcher import Watcher, engine_on
from tests.prove.helpers import journal as j
from tests.prove.helpers.databases import Databases
from tests.prove.helpers.day_store import STORES, StoreName, address_in, holds_lock, open_rows
from tests.prove.helpers.history import History
from tests.prove.helpers.invariants import violations
from tests.prove.sweep import end, finish, new_folder, start
from turnwire.agents.child import ChildAgent
from turnwire.agents.guard import descendants_of, running
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f
from turnwire.engine import EngineSettings, SlowReader
from turnwire.stores.address import is_database

PATIENCE = 120.0
CLAIMS = {"fence", "owner", "lease_until", "version"}
BESIDE = {"connection_sessions", "lanes", "nodes"}
# Tables and their columns, of a file and of a database.
_COLUMNS = {
    False: "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c"
    " WHERE t.type = 'table'",
    True: "SELECT table_name, column_name FROM information_schema.columns"
    " WHERE table_schema = 'public'",
}


def until(happened: Callable[[], bool], what: str) -> None:
    """Look again and again; only a broken test looks for long."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def fences_in(folder: Path) -> dict[str, int]:
    """Returns the number of the newest claim of each conversation."""
    rows = open_rows(address_in(folder))
    try:
        found = rows.read("SELECT conversation_id, fence FROM conversations")
        return {str(name): int(fence) for name, fence in found}
    finally:
        rows.close()


def everything_of(folder: Path, name: str) -> dict[str, list[tuple[object, ...]]]:
    """Every row of a conversation in every table, but for who is connected and who has claimed it: a
    stale server's followers still are, and it may claim what is free.
    """
    rows = open_rows(address_in(folder))
    try:
        columns: dict[str, list[str]] = {}
        for table, column in rows.read(_COLUMNS[is_database(address_in(folder))]):
            if table not in BESIDE and not table.startswith("search") and column not in CLAIMS:
                columns.setdefault(table, []).append(f'"{column}"')
        return {
            table: sorted(
                map(
                    tuple,
                    rows.read(
                        f"SELECT {', '.join(names)} FROM {table} WHERE conversation_id = '{name}'"
                    ),
                ),
                key=repr,
            )
            for table, names in columns.items()
            if '"conversation_id"' in names
        }
    finally:
        rows.close()


# --- a server that stands still -----------------------------------------------------------------


def stands_still(day: subprocess.Popen[bytes], folder: Path) -> bool:
    """Suspends the server, unless it is writing: then it would hold a lock."""
    day.send_signal(signal.SIGSTOP)
    if holds_lock(address_in(folder)):
        day.send_signal(signal.SIGCONT)
        return False
    return True


class Stale(NamedTuple):
    """A suspended server, and its part of the log so far, which it may still send."""

    pid: int
    received: set[tuple[str, str]]  # conversation and name


def received_in(folder: Path) -> set[tuple[str, str]]:
    rows = open_rows(address_in(folder))
    try:
        found = rows.read("SELECT conversation_id, client_message_id FROM receipts")
        return {(name, message_id) for name, message_id in found}
    finally:
        rows.close()


@contextmanager
def standing_still(folder: Path, part: str = "nothing") -> Iterator[Stale]:
    """A day that stands still in the middle of turns; another server has finished it meanwhile."""
    journal = j.Journal(folder / "journal")
    stale = start(folder, part)

    def is_in_the_middle() -> bool:
        lines = j.read(folder / "journal")
        return {line.talk for line in lines if isinstance(line, j.Handed)} >= {"queue", "child"}

    try:
        until(is_in_the_middle, "turns under way")
        until(lambda: stands_still(stale, folder), "a moment without a write")
        received = received_in(folder)
        journal.write(j.Killed(pid=stale.pid, how="it stands still"))
        other = start(folder, part)
        try:
            assert other.wait(PATIENCE) == 0, "another one finishes the day"
        finally:
            end(other)
        yield Stale(stale.pid, received)
        stale.send_signal(signal.SIGCONT)
        assert finish(stale, folder, journal) > 0, "it cannot finish it, too"
    finally:
        journal.close()
        end(stale)


def check_that_a_stale_server_writes_nothing(folder: Path) -> None:
    with standing_still(folder) as stale:
        assert not violations(History.read(folder))
        fences, lines = fences_in(folder), j.read(folder / "journal")
        before = {name: everything_of(folder, name) for name in fences}
        agents = [line for line in lines if isinstance(line, j.Opened) and line.server == stale.pid]
        processes = [pid for line in agents for pid, _ in line.processes]
        assert processes
        assert not wait_until_gone(processes), "its agents are ended while it stands still"
    after = j.read(folder / "journal")[len(lines) :]
    # It joins again, and its clients may repeat what was refused: that is written under a new claim.
    unclaimed = {name for name, fence in fences_in(folder).items() if fence == fences[name]}
    for name in unclaimed:
        assert everything_of(folder, name) == before[name]
    told = [line for line in after if isinstance(line, j.Told) and not line.duplicate]
    acknowledged = {(line.talk, line.name) for line in told if line.ack is not None}
    assert acknowledged <= received_in(folder), "what is acknowledged is stored"
    assert {each for each in acknowledged if each[0] in unclaimed} <= stale.received
    assert not [line for line in after if isinstance(line, j.Left)]


def test_a_server_that_stood_still_writes_nothing_when_it_goes_on(tmp_path: Path) -> None:
    check_that_a_stale_server_writes_nothing(tmp_path)


def test_a_server_that_stood_still_writes_nothing_on_postgres_when_it_goes_on() -> None:
    with Databases() as databases, new_folder(databases) as folder:
        check_that_a_stale_server_writes_nothing(folder)


@pytest.mark.parametrize("store", STORES)
def test_a_server_that_writes_without_its_lease_is_found(store: StoreName) -> None:
    """A server that is suspended when it has nothing to write does no harm: then another day."""
    with Databases() if store == "postgres" else nullcontext() as databases:
        for _ in range(4):
            with new_folder(databases) as folder:
                with standing_still(folder, "forgets_the_fence"):
                    pass
                if "one writer" in {each.invariant for each in violations(History.read(folder))}:
                    return
    pytest.fail("the second writer was not found")


# --- agents -------------------------------------------------------------------------------------


def agents_of(pid: int) -> list[int]:
    """The guard, and the agent below it."""
    return [process.pid for process in descendants_of(pid, running()) if not process.dead]


@pytest.mark.parametrize("which", [0, 1], ids=["the guard", "the agent"])
def test_a_process_of_an_agent_that_is_killed_ends_its_turn_truthfully(
    tmp_path: Path, which: int
) -> None:
    async def scene() -> None:
        agent = ChildAgent("demo", delay=0.03, grace=0.2)
        async with engine_on(tmp_path / "log.db", agent=agent) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("tool")
                await seen.until(f.AssistantToolProgress)
                processes = agents_of(os.getpid())
                os.kill(processes[which], signal.SIGKILL)
                result = await seen.until(f.AssistantToolResult)
                assert result.payload.is_error
                end = (await seen.until(f.AssistantComplete)).payload
                assert end.error is not None
                assert (end.interrupted, end.error.code) == (True, "agent_lost")
                assert not (await seen.state("interrupted")).payload.running
                assert not wait_until_gone(processes)
                await talk.send("hello")
                assert not (await seen.until(f.AssistantComplete)).payload.is_error
                await seen.state("active")

    asyncio.run(scene())


def test_an_agent_that_hangs_is_stopped_with_all_that_it_started(tmp_path: Path) -> None:
    async def scene() -> None:
        agent = ChildAgent("demo", delay=0.002, grace=0.2)
        async with engine_on(tmp_path / "log.db", agent=agent) as engine:
            talk = await engine.create("demo", rules=Options(interrupt_grace=0.1))
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
                processes = agents_of(os.getpid())
                os.kill(processes[1], signal.SIGSTOP)
                await talk.interrupt(1)
                receipt = (await seen.until(f.ConversationInterrupted)).payload
                assert (receipt.forced, receipt.acknowledged) == (True, False)
                assert (await seen.until(f.AssistantComplete)).payload.interrupted
                await seen.state("interrupted")
                assert not wait_until_gone(processes)

    asyncio.run(scene())


def test_a_flood_of_an_agent_is_accepted_and_delays_no_other_conversation(tmp_path: Path) -> None:
    """The agent writes ten megabytes while another conversation goes on."""

    async def scene() -> None:
        agent = ChildAgent("demo", delay=0, grace=0.2)
        settings = EngineSettings(buffer_bytes=8 << 20)
        async with engine_on(tmp_path / "log.db", agent=agent, settings=settings) as engine:
            wild = await engine.create("demo", options={"flood": 1000, "flood_seconds": 0.01})
            calm = await engine.create("demo")
            slow = wild.follow()
            await anext(slow)
            async with Watcher(wild) as seen, Watcher(calm) as other:
                await wild.send("hello")
                await seen.until(f.AssistantChunk)
                await calm.send("tool")
                assert not (await other.until(f.AssistantComplete)).payload.is_error
                await seen.until(f.AssistantComplete)
                await seen.state("active")
                await other.state("active")
            texts = [c.payload.text for c in seen.of(f.AssistantChunk) if not c.payload.partial]
            assert max(map(len, texts)) > 9_000_000
            await wild.rename("A flood")  # all of it may have come together: this is too much then
            with pytest.raises(SlowReader):
                async for _ in slow:
                    pass

    asyncio.run(scene())
