"""The bytes of a UI message stream."""

from __future__ import annotations

import msgspec

from turnwire.core.text import encode_clean
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import payloads as p
from turnwire.turn_streams.growing_blocks import Growing, piece_of
from turnwire.turn_streams.stream_projector import StreamSent

__all__ = ["UiSent", "delta_of", "event_of"]

_encode = msgspec.json.Encoder().encode


class UiSent(StreamSent):
    """A frame, and the event of its piece of text as soon as a connection needs it."""

    __slots__ = ()

    @staticmethod
    def make_delta(piece: Growing) -> bytes:
        """Returns the event of a piece."""
        return event_of(delta_of(piece, piece_of(piece)))


def event_of(chunk: u.Chunk, own_id: str | None = None) -> bytes:
    """Returns a chunk as a server-sent event with this id."""
    data = b"data: " + encode_clean(_encode, chunk) + b"\n\n"
    return data if own_id is None else b"id: %s\n" % own_id.encode() + data


def delta_of(block: Growing, text: str) -> u.Chunk:
    """Returns the chunk of more text of a block."""
    match block:
        case p.ToolCall():
            return u.ToolInputDelta(block.tool_use_id, text)
        case p.Thinking():
            return u.ReasoningDelta(block.block_id, text)
        case _:
            return u.TextDelta(block.block_id, text)
