"""A frame of an RPC connection: its own bytes, and those of a line that others get as well."""

from __future__ import annotations

from turnwire.core.pieces import LARGE, in_pieces
from turnwire.dialects.rpc.projector import Line
from turnwire.server.sockets.backlog import Holdable

__all__ = ["Written"]


class Written:
    """A frame that is bytes already."""

    __slots__ = ("_line", "holders", "number", "raw", "size")

    def __init__(self, raw: bytes, line: Line | None = None) -> None:
        self.holders = 0
        self.raw = raw
        self._line = line
        self.number = line.number if line is not None else None
        self.size = len(raw) + (len(line.written) if line is not None else 0)

    @property
    def is_large(self) -> bool:
        """Whether it is too large to be handed to a socket at once."""
        return self.size > LARGE

    @property
    def shared(self) -> Holdable:
        """The line, if there is one."""
        return self._line or self

    def at(self, sequence: int) -> bytes:
        """The same for whichever number: these frames have none."""
        return self.raw if self._line is None else self.raw + self._line.written

    def pieces(self, sequence: int) -> list[bytes | memoryview]:
        """The same in pieces. Those of the line are views of what everyone shares."""
        rest = self._line.written if self._line is not None else b""
        return [*in_pieces(self.raw), *in_pieces(rest)]
