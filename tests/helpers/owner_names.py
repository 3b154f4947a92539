"""Names of owners, as other processes of this machine have them."""

from __future__ import annotations

import subprocess
import sys

from turnwire.engine.ownership.owners import owner_name

__all__ = ["name_from_before", "owner_with", "pid_that_has_ended"]


def owner_with(pid: int, *, namespace: str | None = None, began: str = "", boot: str = "") -> str:
    """The name of the process with this pid, in the namespace of this process or another one."""
    host, _, _, own_boot, own_namespace, _ = owner_name("a").split(":")
    return f"{host}:{pid}:a:{boot or own_boot}:{namespace or own_namespace}:{began}"


def name_from_before(pid: int) -> str:
    """The name of the same process as versions wrote it that knew host and pid only."""
    return ":".join(owner_with(pid).split(":")[:3])


def pid_that_has_ended() -> int:
    """The pid of a process that is gone."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid
