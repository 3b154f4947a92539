"""The mirror of a session: what Claude Code writes into its files, handed over in pieces.

The program repeats every line of its transcripts on its output, before the event that the line
belongs to. Copies of files from before a change are only on disk: lines name them, and they are read
there. All lines of a process make up one compressed stream; each piece is the next part of it.
"""

from __future__ import annotations

import asyncio
import logging
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path
from uuid import uuid4

import msgspec
from msgspec import Raw, UnsetType

from turnwire.dialects.claude.messages import TranscriptMirror
from turnwire.ports import SessionPiece
from turnwire.safe_files import read_below

__all__ = [
    "BACKUPS",
    "BACKUP_NAME",
    "LINES",
    "SWITCH",
    "Lines",
    "Mirror",
    "backups_in",
    "is_needed",
    "is_transcript",
    "session_of",
    "trimmed",
]

_log = logging.getLogger("turnwire.claude")

LINES = "lines/"  # names of pieces: of the lines of a process
BACKUPS = "file-history/"  # and of the copy of a file
SWITCH = b">"  # begins a line of the stream that names the file of the next lines
BACKUP_NAME = re.compile(r"[0-9A-Za-z]+@v[0-9]+")
# A session, or one of its sub-agents.
_TRANSCRIPT = re.compile(r"[^/]+/([0-9a-f-]{36})(?:\.jsonl|/(?:[^/]+/)*[^/]+\.jsonl)")
_LEVEL = 6
_MOST_BYTES = 64 << 20  # of the copy of one file

# Of the prompt that a process began with. A process on another node makes its own.
_NOT_NEEDED = ("systemPrompt", "tools")
_SNAPSHOT = b'"prompt_snapshot"'
_API_REQUEST = b'"type":"api-request'


class Lines(msgspec.Struct, frozen=True):
    """Lines of a transcript, by the path of its file below the folder of all projects."""

    name: str
    lines: list[bytes]


class _Stream:
    """The compressed lines of one session, as one process has written them."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self._name = f"{LINES}{uuid4().hex[:12]}"
        self._packer = zlib.compressobj(_LEVEL)
        self._current: str | None = None  # the file that was named last

    def piece(self, some: Iterable[Lines]) -> SessionPiece:
        """Returns the next part of the stream."""
        text = b"".join(self._framed(some))
        packed = self._packer.compress(text) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        return SessionPiece(self.session_id, self._name, packed)

    def _framed(self, some: Iterable[Lines]) -> Iterator[bytes]:
        for each in some:
            if each.name != self._current:
                self._current = each.name
                yield SWITCH + each.name.encode() + b"\n"
            for line in each.lines:
                yield line + b"\n"


class Mirror:
    """Collects the lines and files of one process until they are taken."""

    def __init__(
        self, config: Path, before: Iterable[Lines] = (), known: Iterable[str] = ()
    ) -> None:
        """`before`: lines on disk that the store lacks. `known`: copies of files that it has."""
        self._config = config
        self._stream = _Stream("")
        self._waiting: list[Lines] = []
        self._files: dict[str, None] = {}  # copies of files to be read, in order
        self._known = {*known}
        for lines in before:
            self._add(lines)

    @property
    def has_pieces(self) -> bool:
        """Whether something waits to be taken."""
        return bool(self._waiting or self._files)

    def hear(self, message: TranscriptMirror) -> None:
        """Keeps the lines of a message of the program."""
        if message.file_path is None or isinstance(message.entries, UnsetType):
            return
        name = self._name_of(message.file_path)
        if name is None:
            _log.warning("A session has lines of an unexpected file: %s", message.file_path)
            return
        entries = msgspec.json.decode(message.entries, type=list[Raw])
        self._add(Lines(name, [trimmed(bytes(entry)) for entry in entries]))

    async def take(self) -> list[SessionPiece]:
        """Returns what was collected, in pieces. A cancelled call loses nothing."""
        wanted, count = [*self._files], len(self._waiting)
        files = await asyncio.to_thread(self._read, wanted) if wanted else []
        # No other task runs from here on, so all of it is taken. Later lines may name other files.
        waiting, self._waiting = self._waiting[:count], self._waiting[count:]
        for name in wanted:
            self._files.pop(name, None)
            self._known.add(name)
        return [*files, *self._packed(waiting)]

    def _packed(self, waiting: list[Lines]) -> Iterator[SessionPiece]:
        for session_id, some in groupby(waiting, lambda each: session_of(each.name)):
            if session_id != self._stream.session_id:
                self._stream = _Stream(session_id)
            yield self._stream.piece(some)

    def _add(self, lines: Lines) -> None:
        self._waiting.append(lines)
        session_id = session_of(lines.name)
        for backup in chain.from_iterable(map(backups_in, lines.lines)):
            if (name := f"{session_id}/{backup}") not in self._known:
                self._files.setdefault(name)

    def _read(self, names: list[str]) -> list[SessionPiece]:
        """Returns the copies of files. One that cannot be read is left out."""
        found = []
        for name in names:
            session_id, _, backup = name.partition("/")
            try:
                data = read_below(self._config, ["file-history", session_id, backup], _MOST_BYTES)
            except OSError as error:
                _log.warning("The copy %s of a file cannot be kept: %s", name, error)
                continue
            found.append(SessionPiece(session_id, BACKUPS + backup, zlib.compress(data, _LEVEL)))
        return found

    def _name_of(self, path: str) -> str | None:
        """Returns the name of a transcript: its path below the folder of all projects."""
        for base in (self._config, self._config.resolve()):
            start = f"{base / 'projects'}/"
            if path.startswith(start) and is_transcript(name := path.removeprefix(start)):
                return name
        return None


def is_transcript(name: str) -> bool:
    """Returns whether this is the path of a transcript below the folder of all projects."""
    parts = name.split("/")
    return _TRANSCRIPT.fullmatch(name) is not None and not {"", ".", ".."} & {*parts}


def session_of(name: str) -> str:
    """Returns the session of a transcript, by its name."""
    found = _TRANSCRIPT.fullmatch(name)
    assert found is not None
    return found[1]


def trimmed(line: bytes) -> bytes:
    """Returns a line without what is not needed to resume its session.

    The line itself stays: the next one refers to it.
    """
    if _SNAPSHOT not in line:
        return line
    try:
        record = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return line
    note = record.get("attachment") if isinstance(record, dict) else None
    if not isinstance(note, dict) or note.get("type") != "prompt_snapshot":
        return line
    kept = {name: value for name, value in note.items() if name not in _NOT_NEEDED}
    return msgspec.json.encode({**record, "attachment": kept})


def is_needed(line: bytes) -> bool:
    """Returns whether a line on disk belongs to the mirror; the program leaves out the others."""
    return line.startswith(b"{") and _API_REQUEST not in line[:40]


class _Backup(msgspec.Struct):
    backup_file_name: str | None = msgspec.field(default=None, name="backupFileName")


class _Snapshot(msgspec.Struct):
    tracked: dict[str, _Backup] = msgspec.field(default_factory=dict, name="trackedFileBackups")


class _History(msgspec.Struct):
    """A line about copies of files."""

    type: str
    snapshot: _Snapshot | None = None
    backup: _Backup | None = None


_history = msgspec.json.Decoder(_History)


def backups_in(line: bytes) -> list[str]:
    """Returns the names of the copies of files that a line refers to."""
    if b'"file-history-' not in line[:40]:
        return []
    try:
        about = _history.decode(line)
    except (ValueError, RecursionError):
        return []
    backups: list[_Backup | None] = [about.backup]
    if about.snapshot is not None:
        backups += about.snapshot.tracked.values()
    names = [each.backup_file_name for each in backups if each is not None]
    return [name for name in names if name is not None and BACKUP_NAME.fullmatch(name)]
