"""Frames on their way to another node: packed by the node that encoded them, and unpacked there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import msgspec
from msgspec import Struct

from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import Encoded, decode
from turnwire.dialects.v2.sent import Sent

__all__ = ["Relayed", "pack", "unpack"]


class _Packed(Struct, frozen=True, array_like=True, gc=False):
    number: int | None  # of the entry that the frame is about
    raw: bytes


class Relayed(Sent):
    """A frame that another node has encoded. It is decoded only if a program reads it."""

    __slots__ = ("_frame",)

    def __init__(self, raw: bytes, number: int | None) -> None:
        self.holders = 0
        self.number = number
        self._encoded = Encoded(raw)
        self._size = len(raw)
        self._frame: f.Frame | None = None

    @property
    def frame(self) -> f.Frame:  # type: ignore[override]  # decoded late
        """Returns the frame, with `sequence` null."""
        if self._frame is None:
            self._frame = cast("f.Frame", decode(self.written))
        return self._frame


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Packed]).decode


def pack(frames: Sequence[Sent]) -> bytes:
    """Returns frames as bytes, for the followers of another node."""
    return _encode([_Packed(sent.number, sent.written) for sent in frames])


def unpack(packed: bytes) -> list[Sent]:
    """Returns the frames that another node has packed."""
    return [Relayed(each.raw, each.number) for each in _decode(packed)]
