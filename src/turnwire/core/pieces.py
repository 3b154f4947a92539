"""Splits large messages for a socket, so that a slow client needs no copy of the whole."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["LARGE", "in_pieces"]

LARGE = 256 * 1024  # bytes; a larger message is sent in pieces
_PIECE = 64 * 1024  # bytes of one piece


def in_pieces(raw: bytes, start: int = 0) -> Iterator[memoryview]:
    """Yields views of the bytes from `start` on, each small enough for a socket. Copies nothing."""
    view = memoryview(raw)
    return (view[at : at + _PIECE] for at in range(start, len(raw), _PIECE))
