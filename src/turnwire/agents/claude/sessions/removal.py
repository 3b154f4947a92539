"""Removes the files that Claude Code keeps for a session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from glob import escape
from pathlib import Path
from uuid import UUID

from turnwire.agents.claude.sessions.history import agents_of, config_dir

__all__ = ["forget_session"]

# Folders with session files. A name is the session's id, or begins with it and a dot or a dash.
_PLACES = (
    "projects/*",  # messages, long tool results, messages of sub-agents
    "file-history",  # copies of files from before Claude changed them
    "todos",
    "tasks",
    "session-env",
    "debug",
)


def forget_session(session_id: str, env: Mapping[str, str]) -> None:
    """Removes all files of a session. Raises OSError if one cannot be removed.

    Keeps the files that belong to all sessions: the settings and the memory of a project.
    """
    try:
        UUID(session_id)
    except ValueError:
        return  # the id of a session is always a UUID
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
    """Yields the folders with the output of background commands."""
    if not hasattr(os, "getuid"):
        return
    given = env.get("CLAUDE_CODE_TMPDIR") or env.get("TMPDIR") or "/tmp"
    for base in {given, "/tmp"}:
        yield from Path(base).glob(f"claude-{os.getuid()}/*/{escape(session_id)}")
