"""Reads a recorded stream in batches of lines, with bounded memory."""

from __future__ import annotations

import os
import select
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Raw, Struct

from turnwire.cli.terminal.words import readable
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.claude import ClaudeStreamAdapter, Line, decode
from turnwire.dialects.claude.control import ControlRequest, Interrupt
from turnwire.dialects.claude.messages import UnknownMessage
from turnwire.errors import BadLine, UnreadableInput

__all__ = ["Direction", "Entry", "RawLine", "Recording", "events_of", "open_recording"]

Direction: TypeAlias = Literal["out", "in"]

_CHUNK = 256 * 1024  # read at once: large enough for speed, small enough for memory
_BOM = b"\xef\xbb\xbf"  # a byte order mark, which some editors write
_HEAD = 80  # bytes kept of a line that is too long, to identify it


class Entry(Struct, frozen=True, gc=False):
    """One line of a recording."""

    line: Line | BadLine
    direction: Direction = "out"  # out: from the agent; in: from the host to the agent
    time: float | None = None  # seconds, if the recording has times


class RawLine(NamedTuple):
    """The bytes of a line, without surrounding white space."""

    raw: bytes
    number: int


class Recording:
    """The lines of a source of bytes. Skips blank lines and the recorder's own notes."""

    def __init__(
        self,
        read: Callable[[int], bytes],
        name: str,
        *,
        max_line: int,
        size: int | None = None,
    ) -> None:
        self.name = name  # for messages
        self.size = size  # None if the source is not a file: its length is unknown
        self.position = 0  # bytes read so far
        self.notes = 0  # notes of the recorder read so far
        self._read = read
        self._max_line = max_line

    def batches(self) -> Iterator[list[Entry]]:
        """Yields the entries of each chunk as soon as it is read."""
        for lines in self.raw_batches():
            batch: list[Entry] = []
            for line in lines:
                if isinstance(line, BadLine):
                    batch.append(Entry(line))
                else:
                    self._add(line.raw, line.number, batch)
            yield batch

    def raw_batches(self) -> Iterator[list[RawLine | BadLine]]:
        """Yields the lines of each chunk as bytes, for streams that are not an agent's."""
        number = 0
        unended = _UnendedLine(self._max_line)
        while chunk := self._next_chunk():
            self.position += len(chunk)
            first, *others = chunk.split(b"\n")
            unended.add(first)
            batch: list[RawLine | BadLine] = []
            if others:
                *whole, last = others
                number += 1
                self._take(unended, number, batch)
                for raw in whole:
                    number += 1
                    self._add_raw(raw, len(raw), number, batch)
                unended.add(last)
            yield batch
        batch = []
        self._take(unended, number + 1, batch)
        if batch:
            yield batch

    def _next_chunk(self) -> bytes:
        try:
            return self._read(_CHUNK)
        except OSError as error:
            raise _unreadable(self.name, error) from None

    def _take(self, unended: _UnendedLine, number: int, batch: list[RawLine | BadLine]) -> None:
        raw, size = unended.take()
        if number == 1:
            raw = raw.removeprefix(_BOM)
        self._add_raw(raw, size, number, batch)

    def _add_raw(self, raw: bytes, size: int, number: int, batch: list[RawLine | BadLine]) -> None:
        if size > self._max_line:
            batch.append(_too_long(raw[:_HEAD], size, number))
        elif raw := raw.strip(b" \t\r"):
            batch.append(RawLine(raw, number))

    def _add(self, raw: bytes, number: int, batch: list[Entry]) -> None:
        try:
            line = decode(raw, number)
        except BadLine as bad:
            batch.append(Entry(bad))
            return
        message = line.message
        if isinstance(message, UnknownMessage) and not message.original_type:
            entry = self._unwrap(line)
            if entry is not None:
                batch.append(entry)
        else:
            batch.append(Entry(line))

    def _unwrap(self, line: Line) -> Entry | None:
        """Returns the content of a recorder's envelope, or the line itself if it is not one.

        Returns None for a note of the recorder.
        """
        try:
            envelope = _decode_envelope(line.raw)
        except msgspec.DecodeError:
            return Entry(line)
        if envelope.dir == "note":
            self.notes += 1
            return None
        try:
            inner = decode(bytes(envelope.msg), line.number)
        except BadLine as bad:
            return Entry(bad, envelope.dir, envelope.t)
        repaired = tuple(issue for issue in line.unknown if issue == "lone surrogate")
        if repaired:
            inner = Line(inner.message, inner.raw, inner.number, (*inner.unknown, *repaired))
        return Entry(inner, envelope.dir, envelope.t)


class _Envelope(Struct, frozen=True, gc=False):
    """A message as a recorder of both directions writes it."""

    dir: Literal["out", "in", "note"]
    msg: Raw
    t: float | None = None


_decode_envelope = msgspec.json.Decoder(_Envelope).decode


class _UnendedLine:
    """The line whose end has not been read yet. Over the limit, only its head and length are kept."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> None:
        """Appends a piece of the line."""
        self._size += len(piece)
        if self._size <= self._limit:
            self._pieces.append(piece)
        else:
            self._pieces = [(self._pieces or [piece])[0][:_HEAD]]

    def take(self) -> tuple[bytes, int]:
        """Returns the line and its length, and clears it. A line over the limit has only its head."""
        taken = b"".join(self._pieces), self._size
        self._pieces, self._size = [], 0
        return taken


def _too_long(head: bytes, size: int, number: int) -> BadLine:
    detail = f"{size / 2**20:.0f} MiB long, which is over the limit; raise --max-line to read it"
    return BadLine("too_long", detail, line=number, raw=head)


# --- opening ----------------------------------------------------------------------------------


@contextmanager
def open_recording(path: str, *, max_line: int) -> Iterator[Recording]:
    """Opens a file, or standard input for `-`. `max_line` is in MiB. Raises UnreadableInput."""
    limit = max_line * 2**20
    if not path:
        said = "the file name is empty. Name a recording, or give - for standard input."
        raise UnreadableInput(said, path=path)
    if path == "-":
        if sys.stdin is None:  # Python sets None if the stream is closed
            said = "standard input is closed. Name a file instead of -, or pipe a stream in."
            raise UnreadableInput(said, path="<stdin>")
        stdin = sys.stdin.buffer
        with _woken_by_ctrl_c(stdin) as read:
            yield Recording(read, "<stdin>", max_line=limit, size=_size(stdin))
        return
    name = readable(path)
    try:
        file = Path(path).open("rb", buffering=0)  # noqa: SIM115 (closed below)
    except OSError as error:
        raise _unreadable(name, error) from None
    with file:
        yield Recording(file.read, name, max_line=limit, size=_size(file))


@contextmanager
def _woken_by_ctrl_c(stream: BinaryIO) -> Iterator[Callable[[int], bytes]]:
    """Yields a function that reads the available bytes of a stream, and that Ctrl-C always wakes.

    A plain read does not notice a Ctrl-C that comes just before it, or in another thread.
    """
    # read1 returns the available bytes instead of waiting for a full chunk.
    read_now = getattr(stream, "read1", stream.read)
    try:
        number = stream.fileno()
    except OSError:  # not a real file, so a read does not wait
        yield read_now
        return
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    before = signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def read(size: int) -> bytes:
        select.select([number, woken], [], [])  # Python then raises what its handlers raise
        return read_now(size)

    try:
        yield read
    finally:
        signal.set_wakeup_fd(before)
        os.close(woken)
        os.close(waker)


def _size(stream: BinaryIO) -> int | None:
    try:
        status = os.fstat(stream.fileno())
    except OSError:  # not a real file
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _unreadable(name: str, error: OSError) -> UnreadableInput:
    match error:
        case FileNotFoundError():
            said = f"{name} does not exist. Check the path, or give - for standard input."
        case IsADirectoryError():
            said = f"{name} is a directory. Name the files in it: {name.rstrip('/')}/*.jsonl"
        case PermissionError():
            said = f"no permission to read {name}. Ask its owner for permission, or for a copy."
        case _:
            cause = error.strerror or str(error)
            said = f"cannot read {name}: {cause}. Check the disk or the network."
    return UnreadableInput(said, path=name)


# --- translating ------------------------------------------------------------------------------


def events_of(entry: Entry, adapter: ClaudeStreamAdapter) -> list[NormalizedStreamEvent]:
    """Returns the events of an entry. A line of the host has none, but its interrupt is noted."""
    line = entry.line
    if isinstance(line, BadLine):
        return []
    if entry.direction == "out":
        return adapter.feed(line)
    message = line.message
    if isinstance(message, ControlRequest) and isinstance(message.request, Interrupt):
        adapter.interrupt_requested()
    return []
