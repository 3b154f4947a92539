"""A server that cannot reach its store ends its agents before another process may take over."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.agents.helpers.processes import wait_until_gone
from tests.engine.helpers.scripted_agent import ScriptedAgent
from tests.engine.helpers.watcher import PATIENCE, Watcher, engine_on
from turnwire.agents.child import ChildAgent
from turnwire.agents.guard import descendants_of, running
from turnwire.dialects.v2 import frames as f
from turnwire.engine import Engine, Talk
from turnwire.engine.settings import EngineSettings
from turnwire.ports import Lease, StorageUnavailable
from turnwire.testing.agent_listener import processes_below_us
from turnwire.testing.clock import ManualClock

pytestmark = pytest.mark.needs_sqlite(reason="locks the file")

ROOT = Path(__file__).parents[2]
SETTINGS = EngineSettings(lease=6.0)

_LOCKS = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process locks the file: it can be read and not written."""
    command = [sys.executable, "-c", _LOCKS, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        yield
        other.communicate()


def processes_of_agents() -> list[int]:
    """Returns the pids of guards and agents; a database of other tests may run below us, too."""
    return [each.pid for each in processes_below_us() if each.name.startswith("python")]


async def is_owned(engine: Engine, talk: Talk) -> bool:
    row = await engine.store.conversation(talk.id)
    assert row is not None
    return row.owner == engine.owner and row.lease_until > time.time_ns() // 1_000_000


def test_the_processes_of_an_agent_end_before_the_lease_does(path: Path) -> None:
    async def scene() -> None:
        agent = ChildAgent("demo", delay=0.05)
        async with engine_on(path, agent=agent, settings=SETTINGS) as engine:
            talk = await engine.create("demo")
            async with Watcher(talk) as seen:
                await talk.send("long")
                await seen.until(f.AssistantChunk)
                pids = processes_of_agents()
                assert pids
                with locked(path):
                    assert await asyncio.to_thread(wait_until_gone, pids) == []
                    assert await is_owned(engine, talk)
                await seen.state("interrupted")
                await talk.send("Hello")
                await seen.until(f.AssistantChunk)  # of another process

    asyncio.run(scene())


def test_the_processes_of_a_hanging_server_end_before_its_lease(path: Path) -> None:
    command = [sys.executable, "-m", "tests.engine.helpers.killable_server", str(path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        try:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(b'["long", "m-1"]\n')
            server.stdin.flush()
            while b'"assistant.chunk"' not in server.stdout.readline():
                assert server.poll() is None
            pids = [process.pid for process in descendants_of(server.pid, running())]
            assert pids
            server.send_signal(signal.SIGSTOP)
            assert wait_until_gone(pids) == []
            with closing(sqlite3.connect(path)) as db:
                [[until]] = db.execute("SELECT lease_until FROM conversations").fetchall()
            assert until > time.time_ns() // 1_000_000
        finally:
            server.kill()


def test_an_agent_in_this_process_ends_before_the_lease_does(path: Path) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(path, agent=agent, settings=SETTINGS) as engine:
            talk = await engine.create(agent.name)
            async with Watcher(talk) as seen:
                await talk.send("Hello")
                session = await agent.opened()
                session.begins()
                await seen.state("streaming")
                with locked(path):
                    async with asyncio.timeout(PATIENCE):
                        await session.closed.wait()
                    assert await is_owned(engine, talk)
                await seen.state("interrupted")

    asyncio.run(scene())


def test_an_agent_is_opened_under_a_lease_that_holds(path: Path) -> None:
    async def scene() -> None:
        agent, clock = ScriptedAgent(), ManualClock()
        async with engine_on(path, agent=agent, settings=SETTINGS, clock=clock) as engine:
            talk = await engine.create(agent.name)
            await talk.wake()
            lease = engine.alive[talk.id].lease
            lease.renewed(time.monotonic() - SETTINGS.lease)
            assert lease.left <= 0, "as after a time without the store"
            await talk.send("Hello")
            await agent.opened()
            assert agent.starts[-1].lease is lease
            assert lease.left > 2 * lease.margin

    asyncio.run(scene())


def test_no_agent_is_opened_under_a_lease_that_cannot_be_renewed(path: Path) -> None:
    async def scene() -> None:
        agent = ScriptedAgent()
        async with engine_on(path, agent=agent) as engine:
            talk = await engine.create(agent.name)
            await talk.wake()
            async with Watcher(talk) as seen:

                async def renew() -> None:
                    raise StorageUnavailable("The disk has gone.")

                engine.alive[talk.id].lease = Lease(1.0, time.monotonic() - 1.0, renew)
                await talk.send("Hello")
                ended = (await seen.until(f.AssistantComplete)).payload
                assert ended.error is not None
                assert "The disk has gone." in ended.error.message
            assert not agent.sessions

    asyncio.run(scene())


async def test_no_work_begins_under_a_lease_that_was_lost(path: Path) -> None:
    """An expelled process renews nothing, although its store answers."""
    agent, clock = ScriptedAgent(), ManualClock()
    async with engine_on(path, agent=agent, settings=SETTINGS, clock=clock) as engine:
        mine, other = [await engine.create(agent.name) for _ in range(2)]
        async with Watcher(mine), Watcher(other):
            for talk in (mine, other):
                await talk.wake()
            lease = engine.alive[mine.id].lease
            lease.renewed(time.monotonic() - SETTINGS.lease)
            late = clock.now() + round(SETTINGS.lease * 1000)
            await engine.store.claim(other.id, "thief", now=late, lease=1)
            with pytest.raises(StorageUnavailable):
                await lease.ensure()
            await asyncio.gather(*(actor.settle() for actor in [*engine.alive.values()]))
            assert mine.id not in engine.alive, "all its conversations are lost"


async def test_a_guard_keeps_its_agent_only_while_the_store_renews_the_lease(path: Path) -> None:
    """The event loop runs all the time, and only the store does not answer."""
    async with engine_on(path, agent=ChildAgent("demo", delay=0.05), settings=SETTINGS) as engine:
        talk = await engine.create("demo")
        async with Watcher(talk) as seen:
            await talk.send("long")
            await seen.until(f.AssistantChunk)
            lease = engine.alive[talk.id].lease
            pids = processes_of_agents()
            engine._ownership._node.renew = _never  # type: ignore[method-assign]
            engine.alive[talk.id].lose_agent = lambda: False  # type: ignore[method-assign]
            assert await asyncio.to_thread(wait_until_gone, pids) == []
            assert lease.left > 0, "another process may not take over yet"


async def _never() -> bool:
    await asyncio.Event().wait()
    return True
