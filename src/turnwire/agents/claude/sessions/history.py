"""Finds and reads the session files of Claude Code on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from glob import escape
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.dialects.claude.history import Record, Title, read_record
from turnwire.errors import BadLine

__all__ = [
    "BadRecord",
    "Session",
    "SessionFile",
    "agents_of",
    "config_dir",
    "find_session",
    "find_sessions",
    "has_message",
    "read_session",
]

_LONGEST = 200  # characters of a folder name; a longer one is cut, and a digest follows


class BadRecord(Struct, frozen=True):
    """The position of a line that could not be read, and the reason."""

    path: str
    line: int  # 0: the whole file
    why: str


class SessionFile(Struct, frozen=True):
    """The files of a session."""

    session_id: str
    path: Path
    size: int  # bytes, including the sub-agents' files
    agents: list[Path] = []


class Session(Struct):
    """The content of a session's files."""

    session_id: str
    folder: str  # the name of its project folder
    records: list[Record] = []
    titles: list[Title] = []
    agents: dict[str, list[Record]] = {}  # by sub-agent
    calls: dict[str, str] = {}  # the call that started a sub-agent, by sub-agent
    bad: list[BadRecord] = []

    @property
    def cwd(self) -> str | None:
        """The directory that the session was started in: Claude Code resumes it only from this one.

        Lines may name any directory. Only the directory that the project folder is named after
        counts.
        """
        own = (each for each in self.places if _is_named(self.folder, {_folder_name(Path(each))}))
        return next(own, None)

    @property
    def places(self) -> list[str]:
        """The directories that the session's lines name, without duplicates."""
        told = (record.data.get("cwd") for record in self.records)
        return list(dict.fromkeys(place for place in told if isinstance(place, str)))


def config_dir(env: Mapping[str, str] = os.environ) -> Path:
    """Returns the configuration directory of Claude Code."""
    given = env.get("CLAUDE_CONFIG_DIR")
    return Path(given).expanduser() if given else Path(env.get("HOME") or Path.home()) / ".claude"


def find_sessions(config: Path, project: Path | None = None) -> list[SessionFile]:
    """Returns the sessions of one project or of all, the oldest first. Raises OSError."""
    root = config / "projects"
    folders = sorted(each for each in root.iterdir() if each.is_dir()) if root.is_dir() else []
    if project is not None:
        names = {_folder_name(path) for path in (project.absolute(), project.resolve())}
        folders = [each for each in folders if _is_named(each.name, names)]
    found = [session for folder in folders for session in _sessions_in(folder)]
    return sorted(found, key=lambda session: session.path.stat().st_mtime_ns)


def find_session(config: Path, session_id: str) -> SessionFile | None:
    """Returns the file of a session, without its sub-agents, or None if it does not exist."""
    found = (
        None
        if "/" in session_id
        else next(config.glob(f"projects/*/{escape(session_id)}.jsonl"), None)
    )
    return None if found is None else SessionFile(session_id, found, found.stat().st_size)


def has_message(config: Path, session_id: str, name: str) -> bool:
    """Returns whether a session has a person's message with this uuid, so that Claude knows it."""
    file = find_session(config, session_id)
    if file is None:
        return False
    named = name.encode()
    try:
        with file.path.open("rb") as lines:
            return any(named in line and _is_message(line, name) for line in lines)
    except OSError:
        return False


def _is_message(line: bytes, name: str) -> bool:
    try:
        match msgspec.json.decode(line):
            case {"type": "user", "uuid": uuid}:
                return bool(uuid == name)
            case {"attachment": {"type": "queued_command", "source_uuid": uuid}}:
                return bool(uuid == name)  # taken into a running turn
            case _:
                return False
    except (msgspec.DecodeError, RecursionError):
        return False


def agents_of(folder: Path, session_id: str) -> list[Path]:
    """Returns the sub-agent files of a session in the folder; older Claude Code puts them in it."""
    return [path for path in folder.glob("agent-*.jsonl") if _session_of(path) == session_id]


def _sessions_in(folder: Path) -> Iterator[SessionFile]:
    by_session: dict[str, list[Path]] = {}
    for path in folder.glob("agent-*.jsonl"):
        by_session.setdefault(_session_of(path), []).append(path)
    for path in folder.glob("*.jsonl"):
        if not path.name.startswith("agent-"):
            below = (folder / path.stem).glob("subagents/**/agent-*.jsonl")
            agents = sorted([*below, *by_session.get(path.stem, [])])
            size = sum(each.stat().st_size for each in (path, *agents))
            yield SessionFile(path.stem, path, size, agents)


def read_session(file: SessionFile, count: Callable[[int], None]) -> Session:
    """Reads the files of a session. Calls `count` with the bytes of every line. Raises OSError.

    Skips lines that cannot be read, and lists them in `bad`.
    """
    session = Session(file.session_id, file.path.parent.name)
    for item in _items(file.path, session, count):
        if isinstance(item, Title):
            session.titles.append(item)
        else:
            session.records.append(item)
    for path in file.agents:
        agent = path.stem.removeprefix("agent-")
        read = _items(path, session, count)
        session.agents[agent] = [item for item in read if isinstance(item, Record)]
        call = _about(path).get("toolUseId")
        if isinstance(call, str):
            session.calls[agent] = call
    return session


def _items(path: Path, session: Session, count: Callable[[int], None]) -> Iterator[Record | Title]:
    seen: set[str] = set()  # a resumed session may contain its records twice
    with path.open("rb") as lines:
        for number, raw in enumerate(lines, 1):
            count(len(raw))
            if not (line := raw.strip()):
                continue
            try:
                item = read_record(line, number)
            except BadLine as bad:
                session.bad.append(BadRecord(str(path), number, bad.detail))
                continue
            if item is None or (isinstance(item, Record) and item.uuid in seen):
                continue
            if isinstance(item, Record):
                seen.add(item.uuid)
            yield item


def _about(path: Path) -> dict[str, Any]:
    """Returns the metadata of a sub-agent, or an empty dict."""
    try:
        about = msgspec.json.decode(path.with_suffix(".meta.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return about if isinstance(about, dict) else {}


def _session_of(path: Path) -> str:
    with path.open("rb") as lines:
        try:
            first = msgspec.json.decode(lines.readline())
        except (ValueError, RecursionError):
            return ""
    name = first.get("sessionId") if isinstance(first, dict) else None
    return name if isinstance(name, str) else ""


def _folder_name(project: Path) -> str:
    return re.sub(r"[^a-zA-Z0-9]", "-", str(project))


def _is_named(folder: str, names: set[str]) -> bool:
    return folder in names or any(
        len(name) > _LONGEST and folder.startswith(f"{name[:_LONGEST]}-") for name in names
    )
