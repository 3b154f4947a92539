"""The journal: observations from outside the server, a line each, in a file that outlives its writers.

A line is one write to a file that is only appended to. A killed process may have written half a line: such a line
counts as not written, and the next process begins a new line. The times are those of the machine's monotonic clock, which is
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
    """Returns the load per processor, between one and three: waits are longer by this factor."""
    return min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1.0), 3.0)


class Line(Struct, frozen=True, kw_only=True, tag_field="type", tag=str.lower):
    """A line with its time."""

    at: float = msgspec.field(default_factory=time.monotonic)


# --- the server ---------------------------------------------------------------------------------


class Began(Line, frozen=True):
    """A server began: the epoch of its log, and its options."""

    pid: int
    epoch: str
    lease: float
    save_every: float  # seconds between two saves of a block that grows
    node: str = ""  # its name among several; empty: it is the only one
    load: float = msgspec.field(default_factory=load)


class Recovered(Line, frozen=True):
    """A server has recovered the conversations of the one before it."""

    pid: int


class Ended(Line, frozen=True):
    """A server stopped in order. Without this line it was killed."""

    pid: int


class Killed(Line, frozen=True):
    """A server was ended from outside or at a crash point; written by the process that ended it."""

    pid: int
    how: str


class Failed(Line, frozen=True):
    """A process could not finish its work."""

    pid: int
    why: str


class Left(Line, frozen=True):
    """Processes that still ran long after their server had ended."""

    pids: list[int]


class Away(Line, frozen=True):
    """The database was away, for all or for one server: until then it answered nothing."""

    until: float


class Resumed(Line, frozen=True):
    """A server goes on that was suspended, or cut off from the others."""

    pid: int


class InDoubt(Line, frozen=True):
    """A connection to the database was lost, and it is unknown whether these commits are written."""

    pid: int
    commits: int


class Certain(Line, frozen=True):
    """It is known of each of these commits whether it is written."""

    pid: int
    commits: int


class Ticked(Line, frozen=True):
    """The event loop of a server ran its timers."""

    pid: int


class Writes(Line, frozen=True):
    """A server begins to write: it saves text that grows, or commits."""

    pid: int
    talk: str
    number: int  # of the writes of this server
    is_save: bool


class Wrote(Line, frozen=True):
    """The write has ended; `is_written`: without an error."""

    pid: int
    number: int
    is_written: bool


# --- people -------------------------------------------------------------------------------------


class Asked(Line, frozen=True):
    """A person sends a command; a later line has the answer, if there was one."""

    talk: str
    kind: str  # send, answer, decide, stop, choose, control, queue
    name: str  # client_message_id
    about: Any = None  # the words, the request, the turn, the change


class Told(Line, frozen=True):
    """The answer to a command."""

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
    server: int = 0  # pid


class Got(Line, frozen=True):
    """A client received a frame."""

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
    """An agent got a turn, or answers (`resumed`: in another process than the one that asked)."""

    talk: str
    session: str
    turn: int | None = None
    replies: list[str] = []
    resumed: bool = False
    is_known: bool = False  # it has the message of the turn already


class Took(Line, frozen=True):
    """An agent took a message into its running turn."""

    talk: str
    session: str
    message: str  # queue_id


class Stopped(Line, frozen=True):
    """An agent was interrupted or closed."""

    talk: str
    session: str
    how: str


class Said(Line, frozen=True):
    """An agent sent a message or the result of a tool."""

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
    | Away
    | Resumed
    | InDoubt
    | Certain
    | Ticked
    | Writes
    | Wrote
    | Asked
    | Told
    | Came
    | Got
    | Satisfied
    | Opened
    | Handed
    | Took
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
    """Returns all lines in the order in which they were written."""
    if not path.exists():
        return []
    whole, _, _ = path.read_bytes().rpartition(b"\n")  # a process may be writing the last line
    return [line for raw in whole.splitlines() if raw and (line := _decoded(raw)) is not None]


def _decoded(raw: bytes) -> Lines | None:
    """Returns the line, or None if its writer was killed in the middle of it."""
    try:
        return _decoder.decode(raw)
    except msgspec.DecodeError as error:
        if "truncated" in str(error):
            return None
        raise
