"""Projects a conversation for streams of single turns, shared by all of their readers.

Where such a stream begins, and what its reader already has, differ between connections. The shared
messages are the frames of protocol v2. A `TurnWriter` makes the events of one connection from them;
the bytes of a growing text are made once for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from turnwire.core import happenings as h
from turnwire.core.opening import Opening
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import relayed as v2_relayed
from turnwire.dialects.v2.projector import V2Projector
from turnwire.dialects.v2.sent import Sent
from turnwire.turn_streams.growing_blocks import Growing

__all__ = ["StreamProjector", "StreamSent", "unpack"]


class StreamSent(Sent, ABC):
    """A frame, and the event of its piece of text as soon as a connection needs it."""

    __slots__ = ("_delta",)

    def __init__(self, frame: f.Frame) -> None:
        super().__init__(frame)
        self._delta: bytes | None = None

    @property
    def delta(self) -> bytes:
        """The bytes of a piece of text, reasoning or tool input, made once for all readers."""
        if self._delta is None:
            payload: Any = self.frame.payload  # type: ignore[attr-defined]  # every kind has one
            self._delta = self.make_delta(payload)
        return self._delta

    @staticmethod
    @abstractmethod
    def make_delta(piece: Growing) -> bytes:
        """Returns the bytes of a piece."""


Shared = TypeVar("Shared", bound=StreamSent)


class StreamProjector(Generic[Shared]):
    """The projector of protocol v2, whose messages also hold the bytes of growing text."""

    def __init__(self, conversation_id: str, shared: Callable[[f.Frame], Shared]) -> None:
        """`shared`: the class of the messages."""
        self._v2 = V2Projector(conversation_id)
        self._shared = shared

    def project(self, happened: Sequence[h.Happening]) -> list[Shared]:
        """Returns the frames of what happened, in order."""
        return [self._shared(frame) for frame in self._v2.frames(happened)]

    def greet(self, opening: Opening) -> list[Shared]:
        """Returns the first frames of a connection."""
        return [self._shared(sent.frame) for sent in self._v2.greet(opening)]

    def replay(self, kept: h.Kept, now: str) -> list[Shared]:
        """Returns the replay of an entry or of the end of a turn."""
        return [self._shared(sent.frame) for sent in self._v2.replay(kept, now)]

    def present(self, now: h.Now) -> list[Shared]:
        """Returns the end of the replay, the state, and a snapshot of each growing block."""
        return [self._shared(sent.frame) for sent in self._v2.present(now)]


def unpack(packed: bytes, shared: Callable[[f.Frame], Shared]) -> list[Shared]:
    """Returns the messages that another node has packed."""
    return [shared(each.frame) for each in v2_relayed.unpack(packed)]
