"""A frame of an RPC connection: its own bytes, and those of a line that all followers share."""

from __future__ import annotations

from turnwire.core.pieces import LARGE, in_pieces
from turnwire.dialects.rpc.projector import Line
from turnwire.server.sockets.backlog import Holdable

__all__ = ["Written"]


class Written:
    """An encoded frame."""

    __slots__ = ("_line", "holders", "number", "raw", "size")

    def __init__(self, raw: bytes, line: Line | None = None) -> None:
        self.holders = 0
        self.raw = raw
        self._line = line
        self.number = line.number if line is not None else None
        self.size = len(raw) + (len(line.written) if line is not None else 0)

    @property
    def is_large(self) -> bool:
        """Returns whether the frame is too large to be written to a socket at once."""
        return self.size > LARGE

    @property
    def shared(self) -> Holdable:
        """Returns the line, or the frame itself if it has none."""
        return self._line or self

    def at(self, sequence: int) -> bytes:
        """Returns the bytes. RPC frames have no sequence number, so `sequence` is not used."""
        return self.raw if self._line is None else self.raw + self._line.written

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """Returns the bytes in pieces. Those of the line are views of the shared bytes."""
        rest = self._line.written if self._line is not None else b""
        return [*in_pieces(self.raw), *in_pieces(rest)]
