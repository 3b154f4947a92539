"""Whether the process that owns a conversation is still there."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from turnwire.cli.conversations import has_died


def owner_of(pid: int, host: str | None = None) -> str:
    return f"{host or socket.gethostname()}:{pid}:abc"


def test_a_process_that_runs_has_not_died() -> None:
    assert not has_died(owner_of(os.getpid()))


def test_a_process_of_another_machine_may_be_alive() -> None:
    assert not has_died(owner_of(2**22 + 1, "elsewhere"))
    assert not has_died("nobody knows")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a process that has ended")
def test_a_process_that_nobody_has_waited_for_has_died() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
    assert has_died(owner_of(child.pid))
    child.wait()
    assert has_died(owner_of(child.pid))
