"""Lines on their way to another node: packed by the node that encoded them, and unpacked there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from turnwire.core import happenings as h
from turnwire.dialects.rpc.projector import Kind, Line, Steered

__all__ = ["pack", "unpack"]


# The news of a line, by name. The opening of a connection is never relayed.
_NEWS: dict[str, type[Any]] = {
    "began": h.TurnBegan,
    "ended": h.TurnEnded,
    "state": h.StateChanged,
    "steered": Steered,
}
_NAMES = {kind: name for name, kind in _NEWS.items()}


class _Packed(Struct, frozen=True, array_like=True):
    kind: Kind
    written: bytes
    turn_id: int | None
    number: int | None
    news: str | None = None
    data: bytes = b""  # of the news, as JSON, like all that clients may have sent


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[_Packed]).decode


def pack(lines: Sequence[Line]) -> bytes:
    """Returns lines as bytes, for the followers of another node."""
    return _encode(list(map(_packed, lines)))


def _packed(line: Line) -> _Packed:
    place = (line.kind, line.written, line.turn_id, line.number)
    if line.news is None:
        return _Packed(*place)
    return _Packed(*place, _NAMES[type(line.news)], msgspec.json.encode(line.news))


def unpack(packed: bytes) -> list[Line]:
    """Returns the lines that another node has packed."""
    return list(map(_unpacked, _decode(packed)))


def _unpacked(each: _Packed) -> Line:
    news = None
    if each.news is not None:
        news = msgspec.json.decode(each.data, type=_NEWS[each.news])
    return Line(each.kind, None, each.turn_id, each.number, news, written=each.written)
