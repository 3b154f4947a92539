"""What an agent in a process of its own and its server say to each other: JSON, a line each.

A line of events is a batch: what happened together is read together.
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from turnwire.core.content import Content
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import ErrorCode
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.text import encode_clean
from turnwire.ports import AgentGone, SessionStart

__all__ = [
    "Answered",
    "Ask",
    "Choose",
    "Deliver",
    "FromAgent",
    "Gone",
    "Interrupt",
    "LineSplitter",
    "Open",
    "Opened",
    "Prompt",
    "Said",
    "ToAgent",
    "mark_child",
    "read_from_agent",
    "read_to_agent",
    "runs_as_child",
    "write",
]


class _Line(Struct, frozen=True, omit_defaults=True, tag_field="type", tag=str.lower):
    pass


# --- to the agent -------------------------------------------------------------------------------


class Open(_Line, frozen=True):
    """The first line: which agent, and how."""

    agent: str  # a name of the registry, or `module:attribute`
    start: SessionStart
    options: dict[str, Any] = {}  # what the agent is made with


class Prompt(_Line, frozen=True):
    """Begin a turn."""

    content: list[Content]
    turn_uuid: str


class Deliver(_Line, frozen=True):
    """A person's answers."""

    replies: list[Reply]
    resumed: bool


class Choose(_Line, frozen=True):
    """Another model, another permission mode, more or less reasoning."""

    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: int | UnsetType | None = UNSET


class Ask(_Line, frozen=True):
    """Do this beside the talk."""

    number: int  # its answer has the same
    control: Control


class Interrupt(_Line, frozen=True):
    """Stop the turn."""


ToAgent: TypeAlias = Open | Prompt | Deliver | Choose | Ask | Interrupt


# --- from the agent -----------------------------------------------------------------------------


class Opened(_Line, frozen=True):
    """It is there."""

    native_session_id: str | None = None


class Said(_Line, frozen=True):
    """A batch of events."""

    events: list[NormalizedStreamEvent]
    native_session_id: str | None = None


class Answered(_Line, frozen=True):
    """What came of a control."""

    number: int
    result: ControlResult | None = None
    code: ErrorCode | None = None  # why there is no result
    message: str | None = None


class Gone(_Line, frozen=True):
    """It cannot go on, or could not begin."""

    message: str
    traceback: str | None = None  # of a defect, for whoever mends it


FromAgent: TypeAlias = Opened | Said | Answered | Gone

_encode = msgspec.json.Encoder().encode
_to_agent: msgspec.json.Decoder[ToAgent] = msgspec.json.Decoder(ToAgent)
_from_agent: msgspec.json.Decoder[FromAgent] = msgspec.json.Decoder(FromAgent)


def write(line: ToAgent | FromAgent) -> bytes:
    """A line, with its end."""
    return encode_clean(_encode, line) + b"\n"


def read_to_agent(line: bytes) -> ToAgent:
    """What the server says. Raises msgspec.DecodeError."""
    return _to_agent.decode(line)


def read_from_agent(line: bytes | bytearray) -> FromAgent:
    """What the agent says. Raises msgspec.DecodeError."""
    return _from_agent.decode(line)


class LineSplitter:
    """Bytes as they come in, whole lines out."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._begun = bytearray()  # a line that is not complete yet

    def feed(self, data: bytes) -> list[bytes | bytearray]:
        """The lines that are complete now, without their ends.

        A long line grows in one buffer, which is handed out itself: no copy of it is made. Raises
        AgentGone at one that is too long: to leave it out would leave a hole in the story.
        """
        first, *others = data.split(b"\n")
        if len(self._begun) + len(first) > self._longest:
            raise AgentGone(f"The agent wrote a line of more than {self._longest >> 20} MB.")
        if not others:
            self._begun += first
            return []
        lines: list[bytes | bytearray] = [first, *others]
        if self._begun:
            self._begun += first
            lines[0] = self._begun
        self._begun = bytearray(lines.pop())
        return lines


# --- who is who ---------------------------------------------------------------------------------

_MARK = "TURNWIRE_AGENT_PID"


def mark_child() -> None:
    """From now on this process is an agent's, and nobody else's."""
    os.environ[_MARK] = str(os.getpid())


def runs_as_child() -> bool:
    """Whether this process is an agent's own, so that it may do to it what it likes."""
    return os.environ.get(_MARK) == str(os.getpid())
