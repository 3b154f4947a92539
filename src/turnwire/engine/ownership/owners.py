"""The process that owns a conversation: its name, and whether it still runs.

The name has six parts: host, pid, an id, boot, pid namespace, start time. A pid says nothing without the last three:
containers of one machine may share a host name and a data directory, and pids are used again. An owner in
another namespace cannot be looked up, so its lease has to run out.

Names from before have the first three parts only. Of such an owner it is never known that it has ended.
"""

from __future__ import annotations

import os
import socket
import sys
from functools import cache
from pathlib import Path

from msgspec import Struct

__all__ = ["Process", "has_died", "may_live_here", "owner_name", "process_of"]

_PROC = Path("/proc")
_BOOT_DIGITS = 12  # of a random number


class Process(Struct, frozen=True):
    """A process, as the name of an owner tells it."""

    host: str
    pid: int
    boot: str = ""  # of its machine; empty: not known
    namespace: str = ""  # in which its pid is valid
    began: str = ""  # in ticks of the machine

    def can_see(self, other: Process) -> bool:
        """Whether a pid is the same process for both."""
        mine, theirs = (self.boot, self.namespace), (other.boot, other.namespace)
        return all(mine) and mine == theirs


def owner_name(own_id: str) -> str:
    """Returns the name of this process; `own_id` tells several owners in it apart."""
    own = _own()
    return f"{own.host}:{own.pid}:{own_id}:{own.boot}:{own.namespace}:{own.began}"


def process_of(owner: object) -> Process | None:
    """Returns the process that an owner's name tells; None if it tells none."""
    match str(owner).split(":"):
        case [host, pid, _, boot, namespace, began] if pid.isdecimal():
            return Process(host, int(pid), boot, namespace, began)
        case [host, pid, *_] if pid.isdecimal():
            return Process(host, int(pid))
        case _:
            return None


def has_died(owner: object) -> bool:
    """Returns whether the owner's process has surely ended."""
    process = process_of(owner)
    return process is not None and _own().can_see(process) and not _runs(process)


def may_live_here(owner: object) -> bool:
    """Returns whether the owner may be another running process that goes by the clock of this machine."""
    own, process = _own(), process_of(owner)
    if process is None or process == own:
        return False
    if not process.boot:  # a name from before
        return process.host == own.host and process.pid != own.pid and _runs(process)
    return process.boot == own.boot and not has_died(owner)


def _own() -> Process:
    return _process(os.getpid())  # another one after a fork


@cache
def _process(pid: int) -> Process:
    host = socket.gethostname()
    if sys.platform != "linux":  # no namespaces: the host name stands for the machine
        return Process(host, pid, host, "-", "")
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().replace("-", "")[:_BOOT_DIGITS]
        namespace = (_PROC / "self/ns/pid").readlink().name.strip("pid:[]")
    except OSError:
        return Process(host, pid)
    return Process(host, pid, boot, namespace, _stat("self")[1])


def _runs(process: Process) -> bool:
    """Returns whether a process with a pid of this namespace runs, or is not known to have ended."""
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    state, began = _stat(str(process.pid))
    is_zombie = state in ("Z", "X")  # ended, but its parent has not asked how
    is_another = bool(began and process.began and began != process.began)
    return not (is_zombie or is_another)


def _stat(pid: str) -> tuple[str, str]:
    """Returns the state and the start time of a process; empty where the system does not tell them."""
    try:
        if os.readlink(_PROC / "self") != str(os.getpid()):  # noqa: PTH115  # of another namespace
            return "", ""
        text = (_PROC / pid / "stat").read_text(errors="replace")
    except OSError:
        return "", ""
    fields = text.rpartition(")")[2].split()  # a name may have anything in it, also brackets
    return fields[0], fields[19]
