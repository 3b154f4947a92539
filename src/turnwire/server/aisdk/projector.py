"""Projects a conversation for front ends of the AI SDK, shared by all of them.

A turn is one message of the stream, so where a stream begins and what its reader already has differ
between connections. The shared messages are the frames of protocol v2. `UiWriter` makes the chunks
of one connection from them; the bytes of a growing text are made once for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec

from turnwire.core import happenings as h
from turnwire.core.opening import Opening
from turnwire.core.text import encode_clean
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2 import payloads as p
from turnwire.dialects.v2 import relayed as v2_relayed
from turnwire.dialects.v2.projector import V2Projector
from turnwire.dialects.v2.sent import Sent

__all__ = ["AiSdkProjector", "UiSent", "delta_of", "event_of", "unpack"]

_encode = msgspec.json.Encoder().encode


class UiSent(Sent):
    """A frame, and the event of its piece of text as soon as a connection needs it."""

    __slots__ = ("_delta",)

    def __init__(self, frame: f.Frame) -> None:
        super().__init__(frame)
        self._delta: bytes | None = None

    @property
    def delta(self) -> bytes:
        """Returns the event of a piece of text, reasoning or tool input."""
        if self._delta is None:
            self._delta = event_of(delta_of(cast("p.BlockPayload", self.frame.payload)))  # type: ignore[attr-defined]
        return self._delta


class AiSdkProjector:
    """The projector of protocol v2, whose messages also hold the events of growing text."""

    def __init__(self, conversation_id: str) -> None:
        self._v2 = V2Projector(conversation_id)

    def project(self, happened: Sequence[h.Happening]) -> list[UiSent]:
        """Returns the frames of what happened, in order."""
        return [UiSent(frame) for frame in self._v2.frames(happened)]

    def greet(self, opening: Opening) -> list[UiSent]:
        """Returns the first frames of a connection."""
        return [UiSent(sent.frame) for sent in self._v2.greet(opening)]

    def replay(self, kept: h.Kept, now: str) -> list[UiSent]:
        """Returns the replay of an entry or of the end of a turn."""
        return [UiSent(sent.frame) for sent in self._v2.replay(kept, now)]

    def present(self, now: h.Now) -> list[UiSent]:
        """Returns the end of the replay, the state, and a snapshot of each growing block."""
        return [UiSent(sent.frame) for sent in self._v2.present(now)]


def unpack(packed: bytes) -> list[UiSent]:
    """Returns the messages that another node has packed."""
    return [UiSent(each.frame) for each in v2_relayed.unpack(packed)]


def event_of(chunk: u.Chunk, number: int | None = None) -> bytes:
    """Returns a chunk as a server-sent event; `number` is its id."""
    data = b"data: " + encode_clean(_encode, chunk) + b"\n\n"
    return data if number is None else b"id: %d\n" % number + data


def delta_of(piece: p.BlockPayload) -> u.Chunk:
    """Returns the chunk of a piece of text, reasoning or tool input."""
    match piece:
        case p.ToolCall():
            return u.ToolInputDelta(piece.tool_use_id, piece.input_text or "")
        case p.Thinking():
            return u.ReasoningDelta(piece.block_id, piece.text)
        case _:
            return u.TextDelta(piece.block_id, cast("p.Chunk", piece).text)
