"""What a process that is gone has left is made true: at once if that is known, else after its lease."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

from tests.engine.watching import PATIENCE, engine_on
from turnwire.core.conversation.state import Conversation, Turn
from turnwire.engine.owners import has_died, owner_name, process_of
from turnwire.ports import Commit, NewConversation
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
    assert process_of("host:12:a") == ("host", 12)
    assert has_died(f"{socket.gethostname()}:{dead_process()}:a")
    for other in ("elsewhere:1:a", "nonsense", "", f"{socket.gethostname()}:{2**80}:a"):
        assert not has_died(other)


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
