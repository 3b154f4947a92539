"""The messages between a server and an agent in a child process: one JSON object per line.

A line of events is one batch, so that events that belong together are read together.
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from turnwire.core.content import ImageContent, LoadedFile, OtherContent, TextContent
from turnwire.core.controls import Control, ControlResult
from turnwire.core.conversation.state import Reply
from turnwire.core.error_codes import ErrorCode
from turnwire.core.events import NormalizedStreamEvent
from turnwire.core.message import Message
from turnwire.core.text import encode_clean
from turnwire.ports import AgentGone, SessionStart

__all__ = [
    "Answered",
    "Ask",
    "Choose",
    "Deliver",
    "Entries",
    "FromAgent",
    "Gone",
    "HasTaken",
    "History",
    "Interrupt",
    "LineSplitter",
    "Open",
    "Opened",
    "Prompt",
    "PromptContent",
    "Said",
    "Steer",
    "ToAgent",
    "mark_child",
    "read_from_agent",
    "read_to_agent",
    "runs_as_child",
    "write",
]


# The content of a prompt: its files may have their bytes.
PromptContent: TypeAlias = TextContent | ImageContent | LoadedFile | OtherContent


class _Line(Struct, frozen=True, omit_defaults=True, tag_field="type", tag=str.lower):
    pass


# --- to the agent -------------------------------------------------------------------------------


class Open(_Line, frozen=True):
    """Opens a session; the first line to the agent."""

    agent: str  # a name of the registry, or `module:attribute`
    start: SessionStart
    options: dict[str, Any] = {}  # arguments of the agent's constructor
    has_history: bool = False  # the agent may ask for the log with `History`


class Prompt(_Line, frozen=True):
    """Begins a turn."""

    content: list[PromptContent]
    turn_uuid: str


class Steer(_Line, frozen=True):
    """Hands a message to the running turn. `Answered` says whether the turn can take it."""

    number: int
    content: list[PromptContent]
    message_id: str


class HasTaken(_Line, frozen=True):
    """Asks whether the session has a message in its record. `Answered` is the answer."""

    number: int
    message_id: str


class Deliver(_Line, frozen=True):
    """Delivers a person's answers and decisions."""

    replies: list[Reply]
    resumed: bool


class Choose(_Line, frozen=True):
    """Changes the model, the permission mode or the maximum of thinking tokens."""

    model: str | None = None
    permission_mode: str | None = None
    max_thinking_tokens: int | UnsetType | None = UNSET


class Ask(_Line, frozen=True):
    """Asks for a control. `Answered` is its result."""

    number: int  # the answer carries the same number
    control: Control


class Interrupt(_Line, frozen=True):
    """Stops the turn."""


class Entries(_Line, frozen=True):
    """The log of the conversation, as `History` has asked for it."""

    number: int
    entries: list[Message]
    failed: str | None = None  # why the log could not be read


ToAgent: TypeAlias = Open | Prompt | Steer | HasTaken | Deliver | Choose | Ask | Interrupt | Entries


# --- from the agent -----------------------------------------------------------------------------


class Opened(_Line, frozen=True):
    """The session is open; the first line from the agent."""

    native_session_id: str | None = None


class Said(_Line, frozen=True):
    """A batch of events."""

    events: list[NormalizedStreamEvent]
    native_session_id: str | None = None


class Answered(_Line, frozen=True):
    """The result of a control, or why it was refused; the answer to Steer and HasTaken."""

    number: int
    result: ControlResult | None = None
    code: ErrorCode | None = None  # set if there is no result
    message: str | None = None
    yes: bool | None = None  # of Steer and HasTaken


class History(_Line, frozen=True):
    """Asks for the log of the conversation. `Entries` is the answer."""

    number: int


class Gone(_Line, frozen=True):
    """The session could not be opened or cannot continue; the last line from the agent."""

    message: str
    traceback: str | None = None  # set if the cause is a defect of the agent; goes to the log


FromAgent: TypeAlias = Opened | Said | Answered | History | Gone

_encode = msgspec.json.Encoder().encode
_to_agent: msgspec.json.Decoder[ToAgent] = msgspec.json.Decoder(ToAgent)
_from_agent: msgspec.json.Decoder[FromAgent] = msgspec.json.Decoder(FromAgent)


def write(line: ToAgent | FromAgent) -> bytes:
    """Returns the encoded line with its newline."""
    return encode_clean(_encode, line) + b"\n"


def read_to_agent(line: bytes) -> ToAgent:
    """Decodes a line from the server. Raises msgspec.DecodeError."""
    return _to_agent.decode(line)


def read_from_agent(line: bytes | bytearray) -> FromAgent:
    """Decodes a line from the agent. Raises msgspec.DecodeError."""
    return _from_agent.decode(line)


class LineSplitter:
    """Splits a stream of bytes into complete lines."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._begun = bytearray()  # the incomplete last line

    def feed(self, data: bytes) -> list[bytes | bytearray]:
        """Returns the lines that are complete now, without their newlines.

        A long line grows in one buffer, which is returned without a copy. Raises AgentGone if a
        line is too long, because skipping it would lose events.
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


# --- the mark of a child process ----------------------------------------------------------------

_MARK = "TURNWIRE_AGENT_PID"


def mark_child() -> None:
    """Marks this process as the child process of one agent."""
    os.environ[_MARK] = str(os.getpid())


def runs_as_child() -> bool:
    """Returns True if this process was marked by `mark_child`, so the agent may even kill it."""
    return os.environ.get(_MARK) == str(os.getpid())
