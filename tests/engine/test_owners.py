"""What a process that is gone has left is made true: at once if that is known, else after its lease."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.watching import PATIENCE, engine_on
from turnwire.core.conversation.state import Conversation, Turn
from turnwire.engine.owners import has_died, lives_beside, owner_name, process_of
from turnwire.ports import Claim, Commit, NewConversation, Owned
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

AT = "2026-01-01T12:00:00.000Z"
TRACE = "0" * 32


def dead_process() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


async def leave_running(path: Path, owner: str, clock: ManualClock) -> None:
    """A turn that an owner worked on when it went."""
    store = await SqliteStore.open(path)
    await store.create(NewConversation("talk", "demo", AT))
    claim = await store.claim("talk", owner, now=clock.now(), lease=10_000)
    running = Conversation("talk", turn=Turn(1, TRACE, "user", "running"), turns=1)
    await store.commit(Commit(claim, running, [], AT))
    await store.close()


def test_a_process_of_this_machine_that_is_gone_is_known_to_be() -> None:
    assert not has_died(owner_name("a"))
    assert not lives_beside(owner_name("a")), "it is this one"
    assert process_of("host:12:a") == ("host", 12)
    assert has_died(f"{socket.gethostname()}:{dead_process()}:a")
    for other in ("elsewhere:1:a", "nonsense", "", f"{socket.gethostname()}:{2**80}:a"):
        assert not has_died(other)
    assert not lives_beside(f"elsewhere:{os.getppid()}:a")
    assert lives_beside(f"{socket.gethostname()}:{os.getppid()}:a")


def test_a_dead_owner_is_not_waited_for(tmp_path: Path) -> None:
    path, clock = tmp_path / "log.db", ManualClock()

    async def run() -> None:
        await leave_running(path, f"{socket.gethostname()}:{dead_process()}:a", clock)
        async with engine_on(path, clock=clock) as engine:
            status = await (await engine.open("talk")).wake()
            assert (status.state, status.running) == ("interrupted", False)

    asyncio.run(run())


def test_of_any_other_the_lease_has_to_run_out(tmp_path: Path) -> None:
    path, clock = tmp_path / "log.db", ManualClock()

    async def run() -> None:
        await leave_running(path, "elsewhere:1:a", clock)
        async with engine_on(path, clock=clock) as engine:
            assert (await engine.status("talk")).running
            clock.forward(10)
            async with asyncio.timeout(PATIENCE):
                while (await engine.status("talk")).running:
                    await asyncio.to_thread(int)
                status = await (await engine.open("talk")).wake()
            assert (status.state, status.running) == ("interrupted", False)

    asyncio.run(run())


def test_one_of_this_machine_that_lives_is_seen_to_let_go(tmp_path: Path) -> None:
    path, clock = tmp_path / "log.db", ManualClock()

    async def run(owner: str) -> None:
        await leave_running(path, owner, clock)
        async with engine_on(path, clock=clock) as engine:
            talk = await engine.open("talk")
            clock.jump(3600)  # or the machine slept
            with pytest.raises(Owned):
                await talk.wake()
            clock.forward(3)
            held = await engine.store.renew(
                [Claim("talk", owner, 1)], now=clock.now(), lease=10_000
            )
            assert len(held) == 1, "so does an owner that lives"
            clock.jump(3600)
            clock.forward(3)
            with pytest.raises(Owned):
                await talk.wake()
            clock.forward(5)  # in which it could have held on to it
            status = await talk.wake()
            assert (status.state, status.running) == ("interrupted", False)

    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        asyncio.run(run(f"{socket.gethostname()}:{other.pid}:a"))
    finally:
        other.communicate(b"\n")
