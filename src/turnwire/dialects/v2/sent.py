"""A frame that is sent to many connections, and encoded only once."""

from __future__ import annotations

from typing import Any

from turnwire.core.pieces import LARGE, in_pieces
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import Encoded, encode

__all__ = ["Sent"]

_ENVELOPE = 400  # approximate bytes of a frame around a piece of text


class Sent:
    """A frame, and its bytes as soon as a client needs them."""

    __slots__ = ("_encoded", "_size", "frame", "holders", "number")

    def __init__(self, frame: f.Frame) -> None:
        self.holders = 0  # the clients whose queue holds this frame: see `server.sockets.backlog`
        payload: Any = frame.payload  # type: ignore[attr-defined]  # every kind has one
        self.frame = frame
        # The number of the entry that the frame carries or replays.
        self.number: int | None = getattr(payload, "message_sequence", None)
        self._encoded: Encoded | None = None
        self._size: int | None = None

    @property
    def encoded(self) -> Encoded:
        """Encodes the frame once for all connections."""
        if self._encoded is None:
            self._encoded = encode(self.frame)
        return self._encoded

    @property
    def written(self) -> bytes:
        """Returns the frame with `sequence` null."""
        return self.encoded.raw

    def at(self, sequence: int) -> bytes:
        """Returns the frame for one connection, with this `sequence`."""
        if self._encoded is None:  # inlines `encoded`: saves one call for each client
            self._encoded = encode(self.frame)
        return self._encoded.at(sequence)

    @property
    def is_large(self) -> bool:
        """Returns whether the frame is too large to write to a socket in one call."""
        if self._encoded is None:  # inlines `encoded`
            self._encoded = encode(self.frame)
        return len(self._encoded.raw) > LARGE

    @property
    def shared(self) -> Sent:
        """Returns the object that all queues of this frame share."""
        return self

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """Returns the bytes of `at` in pieces. All but the first are views of the shared bytes."""
        head, tail = self.encoded.head, self.encoded.raw
        start = len(head) + len(b"null")
        return [head + b"%d" % sequence, *in_pieces(tail, start)]

    @property
    def size(self) -> int:
        """Estimates the size in bytes, without encoding a short text for that.

        Encodes the frame if it has characters of several bytes, because the estimate would be
        wrong.
        """
        if self._size is None:
            text = getattr(self.frame.payload, "text", None)  # type: ignore[attr-defined]
            if self._encoded is None and isinstance(text, str) and text.isascii():
                self._size = len(text) + _ENVELOPE
            else:
                self._size = len(self.encoded.replayed())
        return self._size
