"""Removes what Claude Code has written down of a session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from glob import escape
from pathlib import Path
from uuid import UUID

from turnwire.agents.claude.sessions.history import agents_of, config_dir

__all__ = ["forget_session"]

# Where Claude Code keeps files of a session, by its id: as the name itself, or before a dot or a dash.
_PLACES = (
    "projects/*",  # what was said, long results of tools, what sub-agents said
    "file-history",  # files as they were before Claude changed them
    "todos",
    "tasks",
    "session-env",
    "debug",
)


def forget_session(session_id: str, env: Mapping[str, str]) -> None:
    """Removes all files of a session. Raises OSError where one is left.

    What Claude Code keeps for all sessions together is not touched: its settings and its memory of
    a project.
    """
    try:
        UUID(session_id)
    except ValueError:
        return  # no session of Claude Code has such a name
    for path in [*_files(config_dir(env), session_id), *_temporary(env, session_id)]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _files(config: Path, session_id: str) -> Iterator[Path]:
    name = escape(session_id)
    for place in _PLACES:
        for folder in config.glob(place):
            yield from folder.glob(name)
            yield from folder.glob(f"{name}[.-]*")
    for folder in config.glob("projects/*"):
        for path in agents_of(folder, session_id):
            yield path
            yield path.with_suffix(".meta.json")


def _temporary(env: Mapping[str, str], session_id: str) -> Iterator[Path]:
    """What commands in the background have printed."""
    if not hasattr(os, "getuid"):
        return
    given = env.get("CLAUDE_CODE_TMPDIR") or env.get("TMPDIR") or "/tmp"
    for base in {given, "/tmp"}:
        yield from Path(base).glob(f"claude-{os.getuid()}/*/{escape(session_id)}")
