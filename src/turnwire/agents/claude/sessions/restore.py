"""Restores the files of a session from the pieces that the store keeps.

The files on this machine may be missing, or older than the pieces: another node has continued the
session. Or they have more than the pieces: the last lines before a crash, or a session from before
there were pieces. The mirror of the next process then begins with what the pieces lack.
"""

from __future__ import annotations

import asyncio
import logging
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from turnwire.agents.claude.sessions.history import find_session
from turnwire.agents.claude.sessions.mirror import (
    BACKUP_NAME,
    BACKUPS,
    LINES,
    SWITCH,
    Lines,
    Mirror,
    is_needed,
    is_transcript,
    session_of,
    trimmed,
)
from turnwire.ports import AgentGone, AgentUser, SessionPiece
from turnwire.safe_files import read_below, write_below

__all__ = ["Unpacked", "begin_mirror", "restore_session", "unpack"]

_log = logging.getLogger("turnwire.claude")
_UUID = re.compile(rb'"uuid":"[0-9a-f-]{36}"')  # the id of a line; other ids have other names


class Unpacked(Struct, frozen=True):
    """The content of pieces."""

    transcripts: dict[str, list[bytes]] = {}  # lines, by the path below the folder of all projects
    backups: dict[str, bytes] = {}  # compressed, by name


def unpack(pieces: Iterable[SessionPiece]) -> Unpacked:
    """Reads the pieces of a session. What is damaged ends the transcripts there."""
    transcripts: dict[str, list[bytes]] = {}
    backups: dict[str, bytes] = {}
    streams: dict[str, list[bytes]] = {}  # by process, in their order
    for piece in pieces:
        if piece.name.startswith(BACKUPS):
            name = piece.name.removeprefix(BACKUPS)
            if BACKUP_NAME.fullmatch(name):
                backups[name] = piece.data
        elif piece.name.startswith(LINES):
            streams.setdefault(piece.name, []).append(piece.data)
    for packed in streams.values():
        current: list[bytes] | None = None
        for line in _lines(packed):
            if line.startswith(SWITCH):
                name = line[1:].decode(errors="replace")
                current = transcripts.setdefault(name, []) if is_transcript(name) else None
            elif current is not None and line:
                current.append(line)
    return Unpacked(transcripts, backups)


def _lines(packed: Sequence[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj()
    try:
        text = b"".join(map(unpacker.decompress, packed))
    except zlib.error as error:
        _log.error("The stored record of a session is damaged: %s", error)
        return
    yield from text.split(b"\n")


async def restore_session(
    config: Path, session_id: str, pieces: Sequence[SessionPiece], user: AgentUser | None
) -> Unpacked:
    """Writes the files of a session that this machine lacks. Raises AgentGone.

    Returns the content of the pieces. The files belong to `user`, if agents run as another user.
    """
    try:
        return await asyncio.to_thread(_restore, config, session_id, pieces, user)
    except OSError as error:
        raise AgentGone(f"Claude's record of this session cannot be restored: {error}") from error


def _restore(
    config: Path, session_id: str, pieces: Sequence[SessionPiece], user: AgentUser | None
) -> Unpacked:
    stored = unpack(piece for piece in pieces if piece.session_id == session_id)
    owner = None if user is None else (user.uid, user.gid)
    for name, lines in stored.transcripts.items():
        if lines and session_of(name) == session_id and not _has(config, name, lines):
            text = b"".join(line + b"\n" for line in lines)
            write_below(config, ["projects", *name.split("/")], text, owner)
    for name, data in stored.backups.items():
        if not (config / "file-history" / session_id / name).is_file():
            try:
                content = zlib.decompress(data)
            except zlib.error as error:
                _log.error("The copy %s of a file is damaged: %s", name, error)
                continue
            write_below(config, ["file-history", session_id, name], content, owner)
    return stored


async def begin_mirror(config: Path, session_id: str | None, stored: Unpacked) -> Mirror:
    """Returns the mirror of a process that continues a session, or begins one if it is None."""
    if session_id is None:
        return Mirror(config)
    try:
        before = await asyncio.to_thread(_not_stored, config, session_id, stored)
    except OSError as error:
        raise AgentGone(f"Claude's record of this session cannot be read: {error}") from error
    return Mirror(config, before, [f"{session_id}/{name}" for name in stored.backups])


def _not_stored(config: Path, session_id: str, stored: Unpacked) -> list[Lines]:
    """Returns what the files of a session have and the pieces lack."""
    return [
        Lines(name, lines)
        for name in _names(config, session_id)
        if (lines := _missing(config, name, stored.transcripts.get(name, [])))
    ]


def _has(config: Path, name: str, lines: Sequence[bytes]) -> bool:
    """Returns whether a file on this machine has the last of these lines."""
    try:
        return _mark(lines) in read_below(config, ["projects", *name.split("/")])
    except OSError:
        return False


def _missing(config: Path, name: str, stored: Sequence[bytes]) -> list[bytes]:
    """Returns the lines of a file on this machine that follow the stored ones."""
    text = read_below(config, ["projects", *name.split("/")])
    lines = [trimmed(line) for line in text.split(b"\n") if is_needed(line)]
    if not stored:
        return lines
    mark, known = _mark(stored), {*stored}
    after = max((number for number, line in enumerate(lines, 1) if mark in line), default=0)
    return [line for line in lines[after:] if line not in known]


def _mark(lines: Sequence[bytes]) -> bytes:
    """Returns the text by which the last of these lines is found in a file."""
    for line in reversed(lines):
        found = _UUID.search(line)
        if found is not None:
            return found[0]
    return lines[-1]


def _names(config: Path, session_id: str) -> list[str]:
    """Returns the names of the session's transcripts on this machine."""
    file = find_session(config, session_id)
    if file is None:
        return []
    below = sorted((file.path.parent / session_id).glob("subagents/**/agent-*.jsonl"))
    names = [str(each.relative_to(config / "projects")) for each in (file.path, *below)]
    return [name for name in names if is_transcript(name)]
