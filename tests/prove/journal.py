"""What was seen from the outside, a line each, in a file that outlives whoever writes it.

A line is one write to a file that is only appended to. A process that is killed in it may have written half of it: such a line
counts as not written, and the next process begins a line of its own. The times are those of the machine's monotonic clock, which is
one for all processes.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct


def load() -> float:
    """How many times more work the machine has than processors, at most three: it is that slow."""
    return min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0), 3.0)


class Line(Struct, frozen=True, kw_only=True, tag_field="type", tag=str.lower):
    """Each says when."""

    at: float = msgspec.field(default_factory=time.monotonic)


# --- the server ---------------------------------------------------------------------------------


class Began(Line, frozen=True):
    """A server began: the epoch of its log, and what its rules are."""

    pid: int
    epoch: str
    lease: float
    save_every: float  # seconds between two saves of a block that grows
    load: float = msgspec.field(default_factory=load)


class Recovered(Line, frozen=True):
    """Whatever the server before it had left is true again."""

    pid: int


class Ended(Line, frozen=True):
    """It stopped in good order. Without this line it was killed."""

    pid: int


class Killed(Line, frozen=True):
    """It was ended from outside, or at a crash point; told by whoever did it."""

    pid: int
    how: str


class Failed(Line, frozen=True):
    """It could not do what it had to do."""

    pid: int
    why: str


class Left(Line, frozen=True):
    """Processes that were still there long after their server had ended."""

    pids: list[int]


# --- people -------------------------------------------------------------------------------------


class Asked(Line, frozen=True):
    """Somebody asks for something; what they are told is in a later line, or they never were."""

    talk: str
    kind: str  # send, answer, decide, stop, choose, control, queue
    name: str  # client_message_id
    about: Any = None  # the words, the request, the turn, the change


class Told(Line, frozen=True):
    """What they were told."""

    talk: str
    kind: str
    name: str
    about: Any = None
    ack: dict[str, Any] | None = None  # none: refused
    duplicate: bool = False
    code: str | None = None  # why it was refused


class Came(Line, frozen=True):
    """A client connects, with a place in a log."""

    client: str
    talk: str
    connection: int
    last_sequence: int | None = None
    epoch: str | None = None


class Got(Line, frozen=True):
    """It received a frame."""

    client: str
    connection: int
    frame: Raw
    on_disk: bool | None = None  # of a live entry: another connection to the file could read it


class Satisfied(Line, frozen=True):
    """A client has everything up to this number, and the server has nothing more to say."""

    client: str
    talk: str
    head: int


# --- the agent ----------------------------------------------------------------------------------


class Opened(Line, frozen=True):
    """An agent was opened. `processes` are all that it started, itself included."""

    talk: str
    session: str
    server: int
    processes: list[tuple[int, str]]  # pid, and when it began


class Handed(Line, frozen=True):
    """It was handed a turn, or answers (`resumed`: by a process other than the one that asked)."""

    talk: str
    session: str
    turn: int | None = None
    replies: list[str] = []
    resumed: bool = False


class Stopped(Line, frozen=True):
    """It was asked to stop, or closed."""

    talk: str
    session: str
    how: str


class Said(Line, frozen=True):
    """What it handed out that leaves a trace: messages, and results of tools."""

    talk: str
    session: str
    messages: list[str]
    results: list[tuple[str, bool]]  # of which call, and whether it is an error
    discarded: list[str] = []  # messages that it took back


Lines: TypeAlias = (
    Began
    | Recovered
    | Ended
    | Killed
    | Failed
    | Left
    | Asked
    | Told
    | Came
    | Got
    | Satisfied
    | Opened
    | Handed
    | Stopped
    | Said
)
_encode = msgspec.json.Encoder().encode
_decoder: msgspec.json.Decoder[Lines] = msgspec.json.Decoder(Lines)


class Journal:
    """Writes lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, line: Lines) -> None:
        os.write(self._fd, b"\n" + _encode(line) + b"\n")

    def close(self) -> None:
        os.close(self._fd)


def read(path: Path) -> list[Lines]:
    """All lines, in the order in which they were written."""
    if not path.exists():
        return []
    whole, _, _ = path.read_bytes().rpartition(b"\n")  # somebody may be writing the last line
    return [line for raw in whole.splitlines() if raw and (line := _decoded(raw)) is not None]


def _decoded(raw: bytes) -> Lines | None:
    """Returns the line, or None if its writer was killed in the middle of it."""
    try:
        return _decoder.decode(raw)
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            return None
        raise
