"""The bytes of an AG-UI stream."""

from __future__ import annotations

import msgspec

from turnwire.core.text import encode_clean
from turnwire.dialects.agui import events as e
from turnwire.dialects.v2 import payloads as p
from turnwire.turn_streams.growing_blocks import Growing, piece_of
from turnwire.turn_streams.stream_projector import StreamSent

__all__ = ["AguiSent", "delta_of", "event_of"]

_encode = msgspec.json.Encoder().encode


class AguiSent(StreamSent):
    """A frame, and the event of its piece of text as soon as a connection needs it."""

    __slots__ = ()

    @staticmethod
    def make_delta(piece: Growing) -> bytes:
        """Returns the event of a piece."""
        return event_of(delta_of(piece, piece_of(piece)))


def event_of(event: e.Event) -> bytes:
    """Returns a server-sent event. Lines end with LF alone: clients know no other end."""
    return b"data: " + encode_clean(_encode, event) + b"\n\n"


def delta_of(block: Growing, text: str) -> e.Event:
    """Returns the event of more text of a block."""
    match block:
        case p.ToolCall():
            return e.ToolCallArgs(block.tool_use_id, text)
        case p.Thinking():
            return e.ReasoningContent(block.block_id, text)
        case _:
            return e.TextContent(block.block_id, text)
