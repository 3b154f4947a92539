"""Who owns a conversation: a process of some machine, by its name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

__all__ = ["has_died", "lives_beside", "owner_name", "process_of"]


def owner_name(own_id: str) -> str:
    """What this process calls itself; `own_id` tells several in one process apart."""
    return f"{socket.gethostname()}:{os.getpid()}:{own_id}"


def process_of(owner: object) -> tuple[str, int] | None:
    """The machine and the process that an owner's name tells."""
    match str(owner).split(":"):
        case [host, number, *_] if number.isdecimal():
            return host, int(number)
        case _:
            return None


def has_died(owner: object) -> bool:
    """Whether it was a process of this machine, and is gone. Of any other nobody can know."""
    process = process_of(owner)
    if process is None or process[0] != socket.gethostname():
        return False
    return not _lives(process[1])


def lives_beside(owner: object) -> bool:
    """Whether it is another process of this machine, and lives."""
    process = process_of(owner)
    if process is None or process == (socket.gethostname(), os.getpid()):
        return False
    return process[0] == socket.gethostname() and _lives(process[1])


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Whether it has ended, and only waits for its parent to hear of it. Linux can tell."""
    try:
        told = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    # The state stands behind the name, in which there may be anything, also brackets.
    return told.rpartition(b")")[2].split()[:1] in ([b"Z"], [b"X"])
