"""Recovery of a dead owner's conversations: at once if its death is known, otherwise after its lease."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.helpers.watcher import PATIENCE, engine_on
from tests.helpers.owner_names import name_from_before, owner_with, pid_that_has_ended
from turnwire.core.conversation.state import Conversation, Turn
from turnwire.engine.ownership.owners import (
    Process,
    has_died,
    inbox_of,
    may_live_here,
    owner_name,
    process_of,
)
from turnwire.ports import Commit, NewConversation, NodeRow, Owned
from turnwire.stores.sqlite import SqliteStore
from turnwire.testing.clock import ManualClock

AT = "2026-01-01T12:00:00.000Z"
TRACE = "0" * 32

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes")


async def leave_running(path: Path, owner: str, clock: ManualClock) -> None:
    """A turn that an owner worked on when it went."""
    store = await SqliteStore.open(path)
    await store.create(NewConversation("talk", "demo", AT))
    await store.join(NodeRow(owner, "another", "inbox"), now=clock.now(), lease=10_000)
    claim = await store.claim("talk", owner, now=clock.now(), lease=10_000)
    running = Conversation("talk", turn=Turn(1, TRACE, "user", "running"), turns=1)
    await store.commit(Commit(claim, running, [], AT))
    await store.close()


def test_an_owner_name_identifies_its_process() -> None:
    process = process_of(owner_name("a"))
    assert process is not None
    assert (process.host, process.pid) == (socket.gethostname(), os.getpid())
    assert process_of("host:12:a") == Process("host", 12), "as names were before"
    for nonsense in ("", "nonsense", "host:x:a", "host:x:a:b:c:d", None):
        assert process_of(nonsense) is None
        assert not has_died(nonsense)
        assert not may_live_here(nonsense)


def test_the_inbox_of_a_node_is_the_same_in_all_its_incarnations() -> None:
    assert inbox_of(owner_name("abc")) == inbox_of(owner_name("abc.2")) == "abc"
    assert inbox_of("host:12:a") is None, "names of earlier versions have none"
    assert inbox_of("import:talk") is None


def test_a_process_that_has_ended_is_known_to_have() -> None:
    assert not has_died(owner_name("a"))
    assert not may_live_here(owner_name("a")), "it is this one"
    parent, ended = owner_with(os.getppid()), owner_with(pid_that_has_ended())
    assert (has_died(parent), may_live_here(parent)) == (False, True)
    assert (has_died(ended), may_live_here(ended)) == (True, False)
    assert not has_died(owner_with(2**80))


@linux
def test_a_process_that_was_not_waited_for_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
    assert has_died(owner_with(child.pid))
    child.wait()


@linux
def test_another_process_with_the_same_pid_is_not_the_owner() -> None:
    assert has_died(owner_with(os.getppid(), began="1"))
    assert has_died(owner_with(os.getpid(), began="1")), "as after a restart of a container"


def test_a_pid_of_another_namespace_or_another_boot_cannot_be_looked_up() -> None:
    for pid in (1, os.getpid(), pid_that_has_ended()):
        for other in (owner_with(pid, namespace="1"), owner_with(pid, boot="another")):
            assert not has_died(other)
    assert may_live_here(owner_with(1, namespace="1")), "in another container of this machine"
    assert not may_live_here(owner_with(1, boot="another"))


def test_a_name_from_before_says_too_little_to_know_that_its_process_has_ended() -> None:
    ended = name_from_before(pid_that_has_ended())
    assert (has_died(ended), may_live_here(ended)) == (False, False)
    assert may_live_here(name_from_before(os.getppid()))
    assert not may_live_here(f"elsewhere:{os.getppid()}:a")


_OPENS = """
import asyncio, sys
from turnwire.engine.ownership.claims import Claims
from turnwire.engine.clock import SystemClock
from turnwire.engine.ownership.node import Node
from turnwire.ports import Owned
from turnwire.stores.sqlite import SqliteStore

async def take(path):
    store = await SqliteStore.open(path)
    try:
        clock = SystemClock()
        about = dict(name=None, inbox="a", agents=lambda: [], load=lambda: {})
        node = Node(store, clock, 60_000, **about)
        claim = await Claims(store, clock, node).take("talk")
        print("took", claim.owner, flush=True)
        sys.stdin.read()
    except Owned:
        print("owned", flush=True)
    finally:
        await store.close()

asyncio.run(take(sys.argv[1]))
"""


_UNSHARE = [
    "unshare",
    "--user",
    "--map-root-user",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
]


def has_namespaces() -> bool:
    try:
        return subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def in_container(path: Path) -> subprocess.Popen[str]:
    """A process that claims the conversation in a pid namespace where it is not pid 1."""
    inside = ["sh", "-c", '"$@"; exit', "sh", sys.executable, "-c", _OPENS, str(path)]
    command = [*_UNSHARE, *inside]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.needs_sqlite(reason="starts another process")
@pytest.mark.skipif(not has_namespaces(), reason="no namespaces for pids can be made here")
def test_a_live_conversation_is_left_alone_by_a_container_with_the_same_host_name(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"

    async def prepare() -> None:
        store = await SqliteStore.open(path)
        await store.create(NewConversation("talk", "demo", AT))
        await store.close()

    def said(by: subprocess.Popen[str]) -> list[str]:
        assert by.stdout is not None
        return by.stdout.readline().split()

    asyncio.run(prepare())
    with in_container(path) as first:
        took, owner = said(first)
        process = process_of(owner)
        assert process is not None
        assert (took, process.host) == ("took", socket.gethostname())
        assert not has_died(owner), "by this process, in another namespace as well"
        alone = subprocess.run(
            [*_UNSHARE, sys.executable, "-c", _OPENS, str(path)], capture_output=True, check=True
        )
        assert alone.stdout == b"owned\n", "by a process that has a namespace to itself"
        first.communicate()


def test_a_dead_owner_is_not_waited_for(tmp_path: Path) -> None:
    path, clock = tmp_path / "log.db", ManualClock()

    async def run() -> None:
        await leave_running(path, owner_with(pid_that_has_ended()), clock)
        async with engine_on(path, clock=clock) as engine:
            status = await (await engine.open("talk")).wake()
            assert (status.state, status.running) == ("interrupted", False)

    asyncio.run(run())


@pytest.mark.parametrize(
    "owner",
    ["elsewhere:1:a", name_from_before(pid_that_has_ended())],
    ids=["elsewhere", "from before"],
)
def test_the_lease_of_an_owner_on_another_machine_has_to_expire(tmp_path: Path, owner: str) -> None:
    path, clock = tmp_path / "log.db", ManualClock()

    async def run() -> None:
        await leave_running(path, owner, clock)
        async with engine_on(path, clock=clock) as engine:
            assert (await engine.status("talk")).running
            clock.forward(10)
            async with asyncio.timeout(PATIENCE):
                while (await engine.status("talk")).running:
                    await asyncio.to_thread(int)
                status = await (await engine.open("talk")).wake()
            assert (status.state, status.running) == ("interrupted", False)

    asyncio.run(run())


def test_a_live_owner_on_this_machine_keeps_its_lease_after_a_clock_jump(tmp_path: Path) -> None:
    path, clock = tmp_path / "log.db", ManualClock()

    async def run(owner: str) -> None:
        await leave_running(path, owner, clock)
        async with engine_on(path, clock=clock) as engine:
            talk = await engine.open("talk")
            clock.jump(3600)  # or the machine slept
            with pytest.raises(Owned):
                await talk.wake()
            clock.forward(3)
            held = await engine.store.renew_node(owner, now=clock.now(), lease=10_000)
            assert held, "so does an owner that lives"
            clock.jump(3600)
            clock.forward(3)
            with pytest.raises(Owned):
                await talk.wake()
            clock.forward(5)  # in which it could have held on to it
            status = await talk.wake()
            assert (status.state, status.running) == ("interrupted", False)

    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        asyncio.run(run(owner_with(other.pid)))
    finally:
        other.communicate(b"\n")
