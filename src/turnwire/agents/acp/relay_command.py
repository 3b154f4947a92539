"""Finds the command of the relay, which the agent's user has to be able to run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from turnwire.agents.acp import tool_relay
from turnwire.ports import AgentGone, AgentUser

__all__ = ["RELAY", "relay_command"]

RELAY = Path(tool_relay.__file__).resolve()


def relay_command(user: AgentUser | None) -> list[str]:
    """Returns the command. `user` is whom the agent runs as, if it is another user.

    Raises AgentGone if that user may not read the files.
    """
    own = Path(sys.executable).resolve()  # the relay needs no virtual environment
    other = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    for python in (own, *([Path(other).resolve()] if other else [])):
        if user is None or (_may_read(user, python) and _may_read(user, RELAY)):
            # -I -S: it starts fast, and imports nothing of the directory of the conversation.
            return [str(python), "-I", "-S", str(RELAY)]
    assert user is not None
    raise AgentGone(
        f"The agent cannot call tools of the front end, because the user {user.name} may not read "
        f"{own} and {RELAY}. Give that user access to them."
    )


def _may_read(user: AgentUser, path: Path) -> bool:
    """Returns whether a user may read a file, by its mode and those of the directories above it."""
    for each in (path, *path.parents):
        about = each.stat()
        mode = about.st_mode
        if about.st_uid == user.uid:
            mode >>= 6
        elif about.st_gid in (user.gid, *user.groups):
            mode >>= 3
        needed = 0o4 if each == path else 0o1
        if not mode & needed:
            return False
    return True
