"""Chooses the isolation that denies agents access to the server's data directory."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from turnwire.agents.process import GUARD
from turnwire.errors import TurnwireError
from turnwire.ports import AgentUser, Isolation

__all__ = ["Chosen", "Mode", "choose", "find_user"]

Mode: TypeAlias = Literal["auto", "require", "namespaces", "landlock", "off"]

_SECONDS = 60.0  # timeout of a test process
_HOW = "Run the server as root with the setting agent_user, or on a Linux that has one of both"


class Chosen(NamedTuple):
    """The isolation of a server's agents. `why_none` is set if the system does not enforce it."""

    isolation: Isolation | None  # None if isolation is switched off
    why_none: str = ""

    @property
    def is_enforced(self) -> bool:
        """Returns True if the system denies agents access to the data directory."""
        return self.isolation is not None and self.isolation.by != "none"


def choose(mode: Mode, data_dir: Path, user: str = "") -> Chosen:
    """Returns the best isolation that works on this machine. Tests each with a real process.

    With `user`, agents run as that user. Raises TurnwireError if `mode` requires an isolation that
    this machine does not support.
    """
    hide = [str(data_dir.resolve())]
    if user:
        return Chosen(Isolation("user", hide, _usable(find_user(user), data_dir)))
    if mode == "off":
        return Chosen(None, "agent_isolation is off")
    problems = []
    for by in _candidates(mode):
        problem = _problem(by)
        if problem is None:
            return Chosen(Isolation(by, hide))
        problems.append(f"{by}: {problem}")
    why = "; ".join(problems)
    if mode != "auto":
        raise TurnwireError(
            f"agent_isolation is {mode!r}, but agents cannot be isolated on this machine ({why}). "
            f"{_HOW}; or set agent_isolation to auto, and agents run without."
        )
    return Chosen(Isolation("none", hide), f"this machine offers no way ({why})")


def _candidates(mode: Mode) -> list[Literal["namespaces", "landlock"]]:
    if mode == "namespaces" or mode == "landlock":
        return [mode]
    return ["namespaces", "landlock"]


@cache
def _problem(by: Literal["namespaces", "landlock"]) -> str | None:
    """Returns why this isolation does not work on this machine, or None if it works.

    The result is cached: it does not change while a server runs.
    """
    with tempfile.TemporaryDirectory() as empty:
        return _probe({"by": by, "hide": [str(Path(empty).resolve())]})


def _probe(spec: Mapping[str, Any]) -> str | None:
    command = [*GUARD, "--probe", msgspec.json.encode(spec).decode()]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, cwd="/", check=False
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        return str(failure)
    said = done.stdout.rpartition("cannot be isolated: ")[2] or done.stderr.strip()[-200:]
    return None if done.returncode == 0 else said or "a test process could not be started"


# --- another user ---------------------------------------------------------------------------------


def find_user(name: str) -> AgentUser:
    """Returns a user of this machine by name or number.

    Raises TurnwireError if the user does not exist or is root.
    """
    try:
        found = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except (KeyError, OverflowError):
        raise TurnwireError(
            f"agent_user is {name!r}, but this machine has no such user. Make one, such as with "
            "`useradd --create-home agents`, or name another."
        ) from None
    if found.pw_uid == 0:
        raise TurnwireError("agent_user is root, who may read everything. Name another user.")
    groups = os.getgrouplist(found.pw_name, found.pw_gid)
    is_closed = found.pw_shell.endswith(("/nologin", "/false"))  # people cannot log in
    shell = "/bin/sh" if is_closed or not found.pw_shell else found.pw_shell
    return AgentUser(found.pw_name, found.pw_uid, found.pw_gid, groups, found.pw_dir, shell)


def _usable(user: AgentUser, data_dir: Path) -> AgentUser:
    """Returns the user unchanged. Raises TurnwireError if that user could read the data."""
    about = data_dir.stat()
    if about.st_uid == user.uid:
        raise TurnwireError(
            f"agent_user is {user.name}, who owns {data_dir}. Name a user without access to it."
        )
    if about.st_mode & 0o077:
        raise TurnwireError(
            f"{data_dir} is open to other users, so agent_user would not keep agents out. "
            f"Close it: chmod 700 {data_dir}"
        )
    spec = {"by": "user", "name": user.name, "uid": user.uid, "gid": user.gid}
    problem = _probe({**spec, "groups": user.groups})
    if problem is not None:
        raise TurnwireError(
            f"agents cannot run as {user.name} ({problem}). The server has to be started as root for "
            "that, or with the capabilities CAP_SETUID, CAP_SETGID and CAP_KILL."
        )
    return user
