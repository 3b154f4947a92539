"""The bus of Unix sockets, between processes of one host."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import uvloop

from turnwire.bus import socket_directory
from turnwire.bus.address import BadBusAddress
from turnwire.bus.sealed import SealedBus
from turnwire.bus.unix import UnixBus
from turnwire.testing import check_bus

SECRET = b"a secret of the nodes"
PATIENCE = 30.0

NODE = """
import asyncio, os, sys
from turnwire.bus.unix import UnixBus

async def main():
    bus, heard = UnixBus(sys.argv[1]), asyncio.Queue()
    await bus.open(sys.argv[2], heard.put_nowait)
    print("ready", flush=True)
    while True:
        data = await heard.get()
        bus.send("test", data)
        bus.broadcast(b"all " + data)

asyncio.run(main())
"""


def start(directory: Path, inbox: str) -> subprocess.Popen[bytes]:
    """Starts a node that answers each message twice, and waits until it listens."""
    command = [sys.executable, "-c", NODE, str(directory), inbox]
    node = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert node.stdout is not None
    assert node.stdout.readline() == b"ready\n"
    return node


async def until(received: list[bytes], count: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while len(received) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def remove_all_in(directory: Path) -> None:
    for path in directory.iterdir():
        path.unlink()


async def keeps_its_promises(directory: Path) -> None:
    async def cut() -> None:
        remove_all_in(directory)

    await check_bus(lambda: UnixBus(directory, look_seconds=0.02), cut=cut)
    await check_bus(lambda: SealedBus(UnixBus(directory), SECRET))


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()]) if sys.platform == "linux" else 0


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("depth", [0, 5])
def test_the_bus_of_sockets_keeps_its_promises(tmp_path: Path, loop: object, depth: int) -> None:
    directory = tmp_path.joinpath(*["a directory with a long name"] * depth, "bus")
    with asyncio.Runner(loop_factory=loop) as runner:  # type: ignore[arg-type]
        runner.run(asyncio.sleep(0))  # uvloop keeps files that its first loop opens
    before = open_files()
    with asyncio.Runner(loop_factory=loop) as runner:  # type: ignore[arg-type]
        runner.run(keeps_its_promises(directory))
    assert open_files() == before
    assert [*directory.iterdir()] == []
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_long_path_needs_no_proc_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_directory, "_DESCRIPTORS", tmp_path / "missing")
    links = {*Path("/tmp").glob("tw-*")}
    asyncio.run(keeps_its_promises(tmp_path / ("long" * 30)))
    assert {*Path("/tmp").glob("tw-*")} <= links


async def test_processes_of_one_host_hear_each_other(tmp_path: Path) -> None:
    directory = tmp_path / "bus"
    nodes = [start(directory, f"node {number}") for number in range(2)]
    received: list[bytes] = []
    bus = UnixBus(directory)
    await bus.open("test", received.append)
    try:
        for number in range(2):
            bus.send(f"node {number}", b"%d" % number)
        # Each node answers, and repeats the broadcasts of the other one without an end.
        await until(received, 20)
        assert {b"0", b"1", b"all 0", b"all 1"} <= {*received}
    finally:
        for node in nodes:
            node.kill()
            node.communicate()
        await bus.close()


async def test_the_socket_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    directory = tmp_path / "bus"
    node = start(directory, "node")
    bus, received = UnixBus(directory), list[bytes]()
    await bus.open("test", received.append)
    bus.send("node", b"alive")
    await until(received, 2)
    node.send_signal(signal.SIGKILL)
    node.communicate()
    assert len([*directory.iterdir()]) == 2
    async with asyncio.timeout(PATIENCE):
        while len([*directory.iterdir()]) == 2:
            bus.broadcast(b"is there a node?")
            await asyncio.sleep(0.005)
    bus.send("node", b"too late")
    assert bus.dropped["unknown_inbox"] >= 1
    await bus.close()
    assert [*directory.iterdir()] == []


async def test_a_stopped_process_does_not_hold_the_sender(tmp_path: Path) -> None:
    directory = tmp_path / "bus"
    stopped, other = start(directory, "stopped"), start(directory, "other")
    bus, received = UnixBus(directory, most_waiting=100_000), list[bytes]()
    await bus.open("test", received.append)
    try:
        stopped.send_signal(signal.SIGSTOP)
        for _ in range(2000):
            bus.send("stopped", b"x" * 1000)
            await asyncio.sleep(0)
        assert bus.dropped["buffer_full"] > 1000
        bus.send("other", b"alive")
        await until(received, 1)
        stopped.send_signal(signal.SIGCONT)
        await until(received, 200)  # what fitted into the buffers arrives
    finally:
        for node in (stopped, other):
            node.kill()
            node.communicate()
        await bus.close()


def test_a_directory_that_other_users_can_use_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "bus"
    directory.mkdir()
    directory.chmod(0o755)
    with pytest.raises(BadBusAddress, match="mode 0700"):
        asyncio.run(UnixBus(directory).open("test", lambda data: None))
    assert [*directory.iterdir()] == []


async def test_a_connection_that_is_not_of_a_node_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bus, received = UnixBus(tmp_path / "bus", most_bytes=100), list[bytes]()
    await bus.open("test", received.append)
    (path,) = (tmp_path / "bus").iterdir()
    monkeypatch.chdir(path.parent)  # the path of a socket is bounded
    reader, writer = await asyncio.open_unix_connection(path.name)
    writer.write(b"\x00\x00\x00\x02ok" + b"GET / HTTP/1.1\r\n\r\n")
    with suppress(ConnectionResetError):
        assert await reader.read() == b""
    assert received == [b"ok"]
    writer.close()
    await bus.close()


async def test_sockets_of_nodes_that_died_while_they_started_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "bus"
    directory.mkdir(mode=0o700)
    for name, age in (("old.sock.new", 100), ("young.sock.new", 1)):
        with socket.socket(socket.AF_UNIX) as left:
            monkeypatch.chdir(directory)
            left.bind(name)
        at = (directory / name).stat().st_mtime - age
        os.utime(directory / name, (at, at))
    bus = UnixBus(directory)
    await bus.open("test", lambda data: None)
    assert not (directory / "old.sock.new").exists()
    assert (directory / "young.sock.new").exists()
    await bus.close()
