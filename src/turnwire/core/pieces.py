"""Large messages go to a socket in pieces, so that a slow client holds no copy of the whole."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["LARGE", "in_pieces"]

LARGE = 256 * 1024  # bytes of a message that is sent in pieces
_PIECE = 64 * 1024  # bytes of such a piece


def in_pieces(raw: bytes, start: int = 0) -> Iterator[memoryview]:
    """Views of the bytes from `start` on, each small enough for a socket. Nothing is copied."""
    view = memoryview(raw)
    return (view[at : at + _PIECE] for at in range(start, len(raw), _PIECE))
