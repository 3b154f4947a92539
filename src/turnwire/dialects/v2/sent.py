"""A frame for all connections that get it: written once, whatever their number."""

from __future__ import annotations

from typing import Any

from turnwire.core.pieces import LARGE, in_pieces
from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import Encoded, encode

__all__ = ["Sent"]

_ENVELOPE = 400  # bytes around a piece of a text


class Sent:
    """A frame, and its bytes once a client needs them."""

    __slots__ = ("_encoded", "_size", "frame", "holders", "number")

    def __init__(self, frame: f.Frame) -> None:
        self.holders = 0  # clients for whom it waits: see `server.backlog`
        payload: Any = frame.payload  # type: ignore[attr-defined]  # every kind has one
        self.frame = frame
        # The entry in the log that it tells of, or tells again.
        self.number: int | None = getattr(payload, "message_sequence", None)
        self._encoded: Encoded | None = None
        self._size: int | None = None

    @property
    def encoded(self) -> Encoded:
        """Written once for everyone; only the sequence in between differs."""
        if self._encoded is None:
            self._encoded = encode(self.frame)
        return self._encoded

    @property
    def written(self) -> bytes:
        """The frame without a number: what all connections have in common."""
        return self.encoded.raw

    def at(self, sequence: int) -> bytes:
        """The frame as one connection gets it, as its frame of this number."""
        if self._encoded is None:  # as above, without one more call for each client
            self._encoded = encode(self.frame)
        return self._encoded.at(sequence)

    @property
    def is_large(self) -> bool:
        """Whether it is too large to be handed to a socket at once."""
        if self._encoded is None:  # as above
            self._encoded = encode(self.frame)
        return len(self._encoded.raw) > LARGE

    @property
    def shared(self) -> Sent:
        """What clients for whom the same frame waits have in common."""
        return self

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """The same bytes as `at`, in pieces. All but the first are views of what everyone shares."""
        head, tail = self.encoded.head, self.encoded.raw
        start = len(head) + len(b"null")
        return [head + b"%d" % sequence, *in_pieces(tail, start)]

    @property
    def size(self) -> int:
        """About how many bytes it takes. A piece of a text is not worth being written for that.

        Unless its characters are of several bytes: then it is written, as it will be sent.
        """
        if self._size is None:
            text = getattr(self.frame.payload, "text", None)  # type: ignore[attr-defined]
            if self._encoded is None and isinstance(text, str) and text.isascii():
                self._size = len(text) + _ENVELOPE
            else:
                self._size = len(self.encoded.replayed())
        return self._size
