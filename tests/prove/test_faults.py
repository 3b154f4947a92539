"""Servers that stand still while others take over, and agents that are killed, hang or flood."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agents.processes import wait_until_gone
from tests.engine.watching import Watcher, engine_on
from tests.prove import journal as j
from tests.prove.history import History
from tests.prove.invariants import violations
from tests.prove.sweep import finish, start
from turnwire.agents.child import ChildAgent
from turnwire.agents.guard import descendants_of, running
from turnwire.core.conversation.state import Options
from turnwire.dialects.v2 import frames as f
from turnwire.engine import EngineSettings, SlowReader

PATIENCE = 120.0
CLAIMS = {"fence", "owner", "lease_until"}


def until(happened: Callable[[], bool], what: str) -> None:
    """Look again and again; only a broken test looks for long."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def everything_in(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, but for who is connected and who has claimed what: a stale server's
    followers still are, and it may claim what is free.
    """
    with closing(sqlite3.connect(path)) as db:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'search%'"
        names = [name for (name,) in db.execute(tables) if name != "connection_sessions"]
        columns = {
            name: [c for _, c, *_ in db.execute(f"PRAGMA table_info({name})") if c not in CLAIMS]
            for name in names
        }
        return {
            name: db.execute(f"SELECT {', '.join(columns[name])} FROM {name}").fetchall()
            for name in names
        }


# --- a server that stands still -----------------------------------------------------------------


def stands_still(day: subprocess.Popen[bytes], path: Path) -> bool:
    """Stop it, unless that is in the middle of a write: then it has the file, and nobody can write."""
    day.send_signal(signal.SIGSTOP)
    db = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except sqlite3.OperationalError:
        day.send_signal(signal.SIGCONT)
        return False
    finally:
        db.close()
    return True


class Stale(NamedTuple):
    """A server that stands still, and what it had in the log by then: it may still tell of that."""

    pid: int
    received: set[tuple[str, str]]  # conversation and name


def received_in(path: Path) -> set[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as db:
        return set(db.execute("SELECT conversation_id, client_message_id FROM receipts"))


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
        until(lambda: stands_still(stale, folder / "log.db"), "a moment without a write")
        received = received_in(folder / "log.db")
        journal.write(j.Killed(pid=stale.pid, how="it stands still"))
        assert start(folder, part).wait(PATIENCE * 2) == 0, "another one finishes the day"
        yield Stale(stale.pid, received)
        stale.send_signal(signal.SIGCONT)
        assert finish(stale, folder, journal) > 0, "it cannot finish it, too"
    finally:
        journal.close()
        stale.kill()
        stale.wait()


def test_a_server_that_stood_still_writes_nothing_when_it_goes_on(tmp_path: Path) -> None:
    with standing_still(tmp_path) as stale:
        assert not violations(History.read(tmp_path))
        before, lines = everything_in(tmp_path / "log.db"), j.read(tmp_path / "journal")
        agents = [line for line in lines if isinstance(line, j.Opened) and line.server == stale.pid]
        processes = [pid for line in agents for pid, _ in line.processes]
        assert processes
        assert not wait_until_gone(processes), "its agents are ended while it stands still"
    after = j.read(tmp_path / "journal")[len(lines) :]
    assert everything_in(tmp_path / "log.db") == before
    told = [line for line in after if isinstance(line, j.Told) and not line.duplicate]
    acknowledged = {(line.talk, line.name) for line in told if line.ack is not None}
    assert not acknowledged - stale.received
    assert not [line for line in after if isinstance(line, j.Left)]


def test_one_that_writes_all_the_same_is_found(tmp_path: Path) -> None:
    with standing_still(tmp_path, "forgets_the_fence"):
        pass
    found = {violation.invariant for violation in violations(History.read(tmp_path))}
    assert "one writer" in found


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


def test_a_flood_of_a_process_is_taken_in_and_nobody_else_is_kept_waiting(tmp_path: Path) -> None:
    """Ten megabytes through a pipe, beside a conversation that goes on as if nothing were."""

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
