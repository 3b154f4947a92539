"""The names of owners, and whether the process of an owner still runs.

A name has six parts: host, pid, an id, boot, pid namespace, start time. A pid alone does not
identify a process: containers of one machine may share a host name and a data directory, and pids
are reused. An owner in another namespace cannot be looked up, so its lease has to expire.

Names of earlier versions have only the first three parts. Such an owner never counts as ended.
"""

from __future__ import annotations

import os
import socket
import sys
from functools import cache
from pathlib import Path

from msgspec import Struct

__all__ = [
    "Process",
    "has_died",
    "host_name",
    "inbox_of",
    "may_live_here",
    "owner_name",
    "process_of",
]

_PROC = Path("/proc")
_BOOT_DIGITS = 12  # of the random boot id


class Process(Struct, frozen=True):
    """A process, as the name of an owner describes it."""

    host: str
    pid: int
    boot: str = ""  # id of the machine's boot; empty if unknown
    namespace: str = ""  # the pid namespace
    began: str = ""  # start time, in ticks of the machine

    def can_see(self, other: Process) -> bool:
        """Returns whether both processes are in the same pid namespace of the same boot."""
        mine, theirs = (self.boot, self.namespace), (other.boot, other.namespace)
        return all(mine) and mine == theirs


def owner_name(own_id: str) -> str:
    """Returns the name of an owner in this process. `own_id` makes it unique within the process."""
    own = _own()
    return f"{own.host}:{own.pid}:{own_id}:{own.boot}:{own.namespace}:{own.began}"


def host_name() -> str:
    """Returns the name of this machine."""
    return _own().host


def inbox_of(owner: object) -> str | None:
    """Returns the address of an owner's node on the bus. Returns None if the name has none.

    The id in the name is the address, and for later incarnations `.` and a number.
    """
    match str(owner).split(":"):
        case [_, _, own_id, _, _, _]:
            return own_id.partition(".")[0]
        case _:
            return None


def process_of(owner: object) -> Process | None:
    """Returns the process in the name of an owner. Returns None if the name contains none."""
    match str(owner).split(":"):
        case [host, pid, _, boot, namespace, began] if pid.isdecimal():
            return Process(host, int(pid), boot, namespace, began)
        case [host, pid, *_] if pid.isdecimal():
            return Process(host, int(pid))
        case _:
            return None


def has_died(owner: object) -> bool:
    """Returns whether the owner's process is known to have ended."""
    process = process_of(owner)
    return process is not None and _own().can_see(process) and not _runs(process)


def may_live_here(owner: object) -> bool:
    """Returns whether the owner may be another running process on this machine, with its clock."""
    own, process = _own(), process_of(owner)
    if process is None or process == own:
        return False
    if not process.boot:  # a name of an earlier version
        return process.host == own.host and process.pid != own.pid and _runs(process)
    return process.boot == own.boot and not has_died(owner)


def _own() -> Process:
    return _process(os.getpid())  # a fork changes the pid


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
    """Returns whether a process of this namespace runs, or is not known to have ended."""
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    state, began = _stat(str(process.pid))
    is_zombie = state in ("Z", "X")  # ended, but its parent has not read the exit code
    is_another = bool(began and process.began and began != process.began)
    return not (is_zombie or is_another)


def _stat(pid: str) -> tuple[str, str]:
    """Returns the state and the start time of a process; empty texts if they are unknown."""
    try:
        if os.readlink(_PROC / "self") != str(os.getpid()):  # noqa: PTH115  # of another namespace
            return "", ""
        text = (_PROC / pid / "stat").read_text(errors="replace")
    except OSError:
        return "", ""
    fields = text.rpartition(")")[2].split()  # the name before it may contain any character
    return fields[0], fields[19]
