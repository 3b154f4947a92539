"""Real processes that act like tools of agents, and functions that wait for their end."""

from __future__ import annotations

import os
import select
import sys
import time

SECONDS = 120.0  # only a broken test waits that long

# Each says its pid on a line of its own and then stays, until it is ended.
_STAY = """
import os, signal, sys, time
def stay(*ignored):
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)
    os.write(1, f"{os.getpid()}\\n".encode())
    while True:
        signal.pause()
"""

QUIET = f"{_STAY}\nstay()"
STRANGER = f"{_STAY}\nos.setuid(65534)\nstay()"  # of another user
STUBBORN = f"{_STAY}\nstay(signal.SIGTERM, signal.SIGHUP)"

# A parent, a child in its group, one in a session of its own, and a daemon whose parent is gone.
FAMILY = f"""{_STAY}
if os.fork() == 0:
    stay()
if os.fork() == 0:
    os.setsid()
    stay()
if (parent := os.fork()) == 0:
    os.setsid()
    if os.fork() == 0:
        stay(signal.SIGTERM)
    os._exit(0)
os.waitpid(parent, 0)
stay()
"""

# Starts two processes and ends by itself.
LEAVER = f"""{_STAY}
if os.fork() == 0:
    stay()
if (parent := os.fork()) == 0:
    os.setsid()
    if os.fork() == 0:
        stay()
    os._exit(0)
os.waitpid(parent, 0)
sys.stdin.readline()
"""

# Starts another process at SIGTERM.
HYDRA = f"""{_STAY}
def again(*_):
    if os.fork() == 0:
        os.setsid()
        stay(signal.SIGTERM)
    os._exit(0)
signal.signal(signal.SIGTERM, again)
stay()
"""


def program(code: str) -> list[str]:
    """A command that runs this, without waiting for anything that it does not need."""
    return [sys.executable, "-I", "-S", "-c", code]


def wait_until_gone(pids: list[int], seconds: float = SECONDS) -> list[int]:
    """Returns the processes that still run after the timeout."""
    deadline = time.monotonic() + seconds
    return [pid for pid in pids if not _ends(pid, deadline)]


def _ends(pid: int, deadline: float) -> bool:
    if hasattr(os, "pidfd_open"):
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return True
        try:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            return bool(poll.poll(max(0, round((deadline - time.monotonic()) * 1000))))
        finally:
            os.close(fd)
    while is_there(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_there(pid: int) -> bool:
    """Returns whether a process runs or has not been reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
