"""The place that a client has reached: the id of the last event that it got."""

from __future__ import annotations

import re

from msgspec import Struct

from turnwire.core.error_codes import Refused

__all__ = ["StreamPlace", "mark_of", "place_of"]

_OTHER = re.compile(r"[^\w:.-]", re.ASCII)
_ESCAPED = re.compile(rb"%([0-9A-F]{2})")
_PLACE = re.compile(r"(\d{1,18})(?:@([^;]*))?((?:;[^;=]+=\d{1,18})*)")


class StreamPlace(Struct, frozen=True):
    """What a client has: all entries up to a number, and the beginnings of blocks that grew."""

    number: int
    epoch: str | None = None  # of the log that the number belongs to
    lengths: dict[str, int] = {}  # characters of each block


def place_of(event_id: str) -> StreamPlace:
    """Returns the place that an id stands for. Raises Refused if it is none of ours."""
    found = _PLACE.fullmatch(event_id)
    if found is None:
        said = f"Last-Event-ID is {event_id[:100]!r}: it has to be the id of an event."
        raise Refused("INVALID_PAYLOAD", said)
    marks = [mark.partition("=") for mark in found[3].split(";")[1:]]
    lengths = {_name_of(name): int(length) for name, _, length in marks}
    return StreamPlace(int(found[1]), _name_of(found[2]) if found[2] else None, lengths)


def mark_of(name: str) -> str:
    """Returns a name in the form that ids of events have it: with escapes, as in an address."""
    return _OTHER.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)


def _name_of(mark: str) -> str:
    raw = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), mark.encode())
    return raw.decode(errors="replace")
