"""The guard ends every process that an agent has started. All processes are real."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import uvloop

from tests.agents.helpers.processes import (
    FAMILY,
    HYDRA,
    LEAVER,
    QUIET,
    SECONDS,
    STRANGER,
    STUBBORN,
    is_there,
    program,
    wait_until_gone,
)
from tests.helpers.privileges import without_right_to_kill
from turnwire.agents import guard
from turnwire.agents.process import (
    GuardedProcess,
    Limits,
    allowed_directory,
    plain_environment,
)
from turnwire.ports import AgentGone, Lease

ONLY_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper")


async def pids_of(process: GuardedProcess, count: int) -> list[int]:
    """The first lines that a family writes: a pid each."""
    heard = b""
    async with asyncio.timeout(SECONDS):
        while heard.count(b"\n") < count:
            data = await process.read()
            assert data, f"{process.how_it_ended()} {heard!r}"
            heard += data
    return [int(line) for line in heard.split()]


def test_a_command_sees_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = ("DATABASE_PASSWORD", "TURNWIRE_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY")
    for name in secrets:
        monkeypatch.setenv(name, "not for you")

    async def run() -> None:
        show = "import os, sys; sys.stdout.write(repr(sorted(os.environ.items())))"
        process = await GuardedProcess.start(program(show))
        seen = b""
        async with asyncio.timeout(SECONDS):
            while piece := await process.read():
                seen += piece
        await process.end()
        assert b"'PATH'" in seen
        assert b"not for you" not in seen

    asyncio.run(run())


# --- ending -------------------------------------------------------------------------------------


def test_a_server_that_hangs_loses_its_processes() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(program(STUBBORN), grace=0.1, standstill=0.5)
        pids = await pids_of(process, 1)
        assert wait_until_gone([*pids, process.guard_pid]) == []  # nothing else happens meanwhile
        async with asyncio.timeout(SECONDS):
            await process.wait()
        assert [each.pid for each in await process.end()] == pids

    asyncio.run(run())


def test_a_server_that_goes_on_keeps_it_for_as_long_as_it_likes() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(
            ["sh", "-c", "sleep 6; echo still here"], standstill=2.0
        )
        async with asyncio.timeout(SECONDS):
            assert await process.read() == b"still here\n"
        await process.end()

    asyncio.run(run())


async def renew() -> None:
    """The store cannot be reached."""


def test_a_server_that_cannot_renew_its_lease_loses_its_processes() -> None:
    async def run() -> None:
        lease = Lease(1.0, time.monotonic(), renew)
        process = await GuardedProcess.start(program(STUBBORN), grace=SECONDS, lease=lease)
        pids = await pids_of(process, 1)
        async with asyncio.timeout(SECONDS):
            await process.wait()  # this process goes on meanwhile
        assert [(each.pid, each.signal) for each in await process.end()] == [(pids[0], "SIGKILL")]
        assert "did not renew its lease" in process.how_it_ended()

    asyncio.run(run())


def test_a_server_that_renews_its_lease_keeps_it_for_as_long_as_it_likes() -> None:
    async def run() -> None:
        lease = Lease(2.0, time.monotonic(), renew)
        command = ["sh", "-c", "sleep 3; echo still here"]
        process = await GuardedProcess.start(command, lease=lease)
        reading = asyncio.create_task(process.read())
        async with asyncio.timeout(SECONDS):
            while not (await asyncio.wait([reading], timeout=0.05))[0]:
                lease.renewed(time.monotonic())
        assert await reading == b"still here\n"
        await process.end()

    asyncio.run(run())


@ONLY_LINUX
def test_the_whole_family_ends_and_is_named_with_its_signals() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(program(FAMILY), grace=0.2)
        pids = await pids_of(process, 4)
        ended = await process.end()
        assert wait_until_gone(pids) == []
        assert {each.pid: each.signal for each in ended} == {
            each.pid: "SIGKILL" if each.signal == "SIGKILL" else "SIGTERM" for each in ended
        }
        assert {each.pid for each in ended} == set(pids)
        assert sorted(each.signal or "" for each in ended) == ["SIGKILL", *["SIGTERM"] * 3]
        assert all(each.name and "python" in each.name for each in ended)

    asyncio.run(run())


@ONLY_LINUX
@pytest.mark.skipif(os.geteuid() != 0, reason="needs a process of another user")
def test_a_process_that_cannot_be_ended_is_named() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(program(STRANGER), grace=0.1)
        [pid] = await pids_of(process, 1)
        try:
            [left] = await process.end()
            assert (left.pid, left.left, left.signal) == (pid, True, None)
        finally:
            os.kill(pid, signal.SIGKILL)  # which it still can

    without_right_to_kill(lambda: asyncio.run(run()))


def test_a_process_that_ignores_sigterm_is_killed() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(program(STUBBORN), grace=0.1)
        (pid,) = await pids_of(process, 1)
        (ended,) = await process.end()
        assert (ended.pid, ended.signal) == (pid, "SIGKILL")
        assert wait_until_gone([pid]) == []

    asyncio.run(run())


def test_a_suspended_process_still_ends_by_sigterm() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(program(QUIET), grace=SECONDS)
        (pid,) = await pids_of(process, 1)
        os.kill(pid, signal.SIGSTOP)
        (ended,) = await process.end()
        assert ended.signal == "SIGTERM"

    asyncio.run(run())


@ONLY_LINUX
def test_a_process_that_starts_another_at_its_end_does_not_escape() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(program(HYDRA), grace=0.2)
        (first,) = await pids_of(process, 1)
        ended = await process.end()
        assert len(ended) == 2
        assert wait_until_gone([first, *(each.pid for each in ended)]) == []

    asyncio.run(run())


@ONLY_LINUX
def test_processes_that_a_command_leaves_end_with_it() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(program(LEAVER))
        pids = await pids_of(process, 2)
        process.write(b"go\n")
        async with asyncio.timeout(SECONDS):
            await process.wait()
        assert wait_until_gone(pids) == []
        assert "exit code 0" in process.how_it_ended()
        assert {each.pid for each in await process.end()} == set(pids)

    asyncio.run(run())


def test_a_process_that_ends_by_itself_is_not_reported_as_ended() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(["cat"])
        process.hang_up()
        assert await process.end(leave=SECONDS) == []
        assert await process.end() == []

    asyncio.run(run())


# --- the server dies ----------------------------------------------------------------------------

SERVER = f"""
import asyncio, sys
from turnwire.agents.process import GuardedProcess
async def main():
    process = await GuardedProcess.start([sys.executable, "-I", "-S", "-c", {FAMILY!r}], grace=0.2)
    print(process.guard_pid, flush=True)
    while True:
        sys.stdout.buffer.write(await process.read())
        sys.stdout.flush()
asyncio.run(main())
"""


@ONLY_LINUX
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
def test_when_the_server_is_killed_nothing_survives(by: signal.Signals) -> None:
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE)
    assert server.stdout is not None
    with server.stdout as said:
        pids = [int(said.readline()) for _ in range(5)]
        server.send_signal(by)
        server.wait(SECONDS)
        assert wait_until_gone(pids) == []
        assert said.read() == b""  # no process holds its output any more


@ONLY_LINUX
def test_when_the_guard_itself_is_killed_nothing_survives_either() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(program(FAMILY))
        pids = await pids_of(process, 4)
        os.kill(process.guard_pid, signal.SIGKILL)
        async with asyncio.timeout(SECONDS):
            await process.wait()
        assert wait_until_gone(pids) == []
        assert {each.pid for each in await process.end()} <= set(pids)
        assert await process.read() == b""

    asyncio.run(run())


# --- without a subreaper ------------------------------------------------------------------------


def test_without_a_subreaper_children_in_other_sessions_end_too() -> None:
    code = FAMILY.replace("stay(signal.SIGTERM)\n    os._exit(0)", "stay()\n    stay()")
    code = code.replace("os.waitpid(parent, 0)\n", "")  # it stays, too

    async def run() -> None:
        process = await GuardedProcess.start(program(code), grace=0.5, subreaper=False)
        pids = await pids_of(process, 5)
        ended = await process.end()
        assert {each.pid for each in ended} == set(pids)
        assert wait_until_gone(pids) == []

    asyncio.run(run())


def test_ps_and_proc_give_the_same_processes() -> None:
    me = os.getpid()
    process = next(each for each in guard._from_ps() if each.pid == me)
    assert process.parent == os.getppid()
    assert process.group == os.getpgrp()
    assert not process.dead
    if sys.platform == "linux":
        assert guard.running()[me].parent == os.getppid()


# --- input and output ---------------------------------------------------------------------------


def test_input_output_and_errors_are_the_commands_own() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(["sh", "-c", "cat; echo trouble >&2; exit 3"])
        process.write(b"\x00\xffbytes\n" * 100_000)
        process.hang_up()
        heard = b""
        while data := await process.read():
            heard += data
        async with asyncio.timeout(SECONDS):
            await process.wait()
        assert heard == b"\x00\xffbytes\n" * 100_000
        assert process.last_words == "trouble"
        assert process.how_it_ended() == (
            "The agent's process has ended with exit code 3. It said last: trouble"
        )
        await process.end()
        with pytest.raises(AgentGone):
            process.write(b"too late")

    asyncio.run(run())


def test_only_the_end_of_stderr_is_kept() -> None:
    async def run() -> None:
        command = ["sh", "-c", "yes complaint | head -n 100000 >&2; echo the end >&2"]
        process = await GuardedProcess.start(command)
        async with asyncio.timeout(SECONDS):
            await process.wait()
        await process.end()
        assert process.last_words.endswith("the end")
        assert len(process.last_words) < 5000

    asyncio.run(run())


def test_a_command_whose_output_is_not_read_waits_and_can_be_ended() -> None:
    async def run() -> None:
        process = await GuardedProcess.start(["yes"])
        assert len(await process.read()) > 0
        (ended,) = await process.end()
        assert ended.name == "yes"
        assert not is_there(ended.pid)

    asyncio.run(run())


def test_a_command_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AgentGone, match="no-such-program: No such file or directory"):
        asyncio.run(GuardedProcess.start(["no-such-program"]))


def test_a_folder_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AgentGone, match="could not be started"):
        asyncio.run(GuardedProcess.start(["true"], cwd=str(tmp_path / "nowhere")))


def test_no_secret_of_the_server_reaches_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "s3cret")
    monkeypatch.setenv("TZ", "UTC")

    async def run() -> bytes:
        process = await GuardedProcess.start(["env"])
        heard = b""
        while data := await process.read():
            heard += data
        await process.end()
        return heard

    heard = asyncio.run(run())
    assert b"s3cret" not in heard
    assert b"TZ=UTC" in heard
    assert "SOME_API_KEY" not in plain_environment()


def test_a_server_can_lend_the_guard_a_named_socket(tmp_path: Path) -> None:
    import socket

    path = tmp_path / "control"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        command = [sys.executable, "-m", "turnwire.agents.guard", "--control", str(path), "--"]
        started = subprocess.Popen([*command, "cat"], stdin=subprocess.PIPE)
        control, _ = listening.accept()
        with control, control.makefile("rb") as said:
            assert b"started" in said.readline()
            control.sendall(b'{"end": {}}\n')
            assert b"exited" in said.readline()
            assert b"SIGTERM" in said.readline()
        assert started.wait(SECONDS) == 0
        assert started.stdin is not None
        started.stdin.close()


# --- limits and places --------------------------------------------------------------------------


@ONLY_LINUX
@pytest.mark.parametrize(
    ("limits", "why"),
    [
        (Limits(processes=3), "it ran 4 processes; 3 are allowed"),
        (Limits(memory=1 << 20), "MB of memory; 1 MB are allowed"),
    ],
    ids=["processes", "memory"],
)
async def test_a_process_above_its_limits_is_ended_with_the_reason(
    limits: Limits, why: str
) -> None:
    process = await GuardedProcess.start(program(FAMILY), grace=0.2, limits=limits)
    pids = await pids_of(process, 4)
    async with asyncio.timeout(SECONDS):
        await process.wait()
    assert why in process.how_it_ended()
    assert wait_until_gone(pids) == []
    await process.end()


@ONLY_LINUX
async def test_a_process_within_its_limits_is_not_ended() -> None:
    limits = Limits(memory=1 << 34, processes=100)
    process = await GuardedProcess.start(program(LEAVER), limits=limits)
    await pids_of(process, 2)
    process.write(b"\n")
    async with asyncio.timeout(SECONDS):
        await process.wait()
    assert "exit code 0" in process.how_it_ended()
    await process.end()


def test_an_agent_works_below_its_roots(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "deep").mkdir(parents=True)
    outside.mkdir()
    (inside / "way_out").symlink_to(outside)
    (inside / "file").write_text("")
    assert allowed_directory(str(inside / "deep"), [inside]) == str(inside / "deep")
    assert allowed_directory(None, [inside]) == str(inside)
    assert allowed_directory(str(outside), None) == str(outside)
    assert allowed_directory(None, None) == str(Path.cwd())
    for place in ("way_out", "../outside", "deep/../..", "nowhere", "file"):
        with pytest.raises(AgentGone, match=r"(may |can)not work in"):
            allowed_directory(str(inside / place), [inside])


async def test_output_is_passed_to_the_listener() -> None:
    process = await GuardedProcess.start(program(QUIET))
    heard: list[bytes] = []
    there = asyncio.Event()

    def receive(data: bytes) -> None:
        heard.append(data)
        there.set()

    process.listen(receive)
    async with asyncio.timeout(SECONDS):
        await there.wait()
    assert int(b"".join(heard)) > 0
    await process.end()
    await process.silence()


# --- ended processes ------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("command", ["cat", "yes"])
def test_calls_to_an_ended_process_do_no_harm(
    loop: Callable[[], asyncio.AbstractEventLoop], command: str
) -> None:
    async def run() -> None:
        process = await GuardedProcess.start([command])
        if command == "yes":  # so much that reading is paused
            await process.read()
            async with asyncio.timeout(SECONDS):
                while not process._output.paused:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
        os.kill(process.guard_pid, signal.SIGKILL)
        async with asyncio.timeout(SECONDS):
            await process.wait()
            assert process._guard is not None
            process._hold(
                SECONDS, None
            )  # no guard hears this sign of life, and so the way is closed
            while not process._guard.is_closing():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)  # uvloop closes a handle a turn of the loop later
        for _ in range(2):
            process.pause()
            process.resume()
            process.hang_up()
            with pytest.raises(AgentGone):
                process.write(b"too late\n")
            await process.end()
        assert not process.is_running

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())
