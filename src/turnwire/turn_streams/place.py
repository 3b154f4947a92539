"""The place that a client has reached: the id of the last event that it got."""

from __future__ import annotations

import re

from msgspec import Struct

from turnwire.core.error_codes import Refused

__all__ = ["StreamPlace", "log_mark", "mark_of", "place_of"]

_OTHER = re.compile(r"[^\w:.-]", re.ASCII)
_ESCAPED = re.compile(rb"%([0-9A-F]{2})")
_PLACE = re.compile(r"(\d{1,18})(?:@([^;/]*)(?:/([^;]*))?)?((?:;[^;=]+=\d{1,18})*)")


class StreamPlace(Struct, frozen=True):
    """What a client has: all entries up to a number, and the beginnings of blocks that grew."""

    number: int
    epoch: str | None = None  # of the log that the number belongs to
    lengths: dict[str, int] = {}  # characters of each block
    conversation: str | None = None  # a fork has other entries under the same numbers

    def is_of(self, epoch: str, conversation_id: str, head: int) -> bool:
        """Returns whether the number is of this log, which has entries up to `head`."""
        is_same = (self.epoch, self.conversation) == (epoch, conversation_id)
        return is_same and self.number <= head


def place_of(event_id: str) -> StreamPlace:
    """Returns the place that an id stands for. Raises Refused if it is none of ours."""
    found = _PLACE.fullmatch(event_id)
    if found is None:
        said = f"Last-Event-ID is {event_id[:100]!r}: it has to be the id of an event."
        raise Refused("INVALID_PAYLOAD", said)
    marks = [mark.partition("=") for mark in found[4].split(";")[1:]]
    lengths = {_name_of(name): int(length) for name, _, length in marks}
    epoch, conversation = (None if mark is None else _name_of(mark) for mark in found.group(2, 3))
    return StreamPlace(int(found[1]), epoch, lengths, conversation)


def log_mark(epoch: str, conversation_id: str) -> str:
    """Returns the part of an id that names the log, after the number of an entry."""
    return f"@{mark_of(epoch)}/{mark_of(conversation_id)}"


def mark_of(name: str) -> str:
    """Returns a name in the form that ids of events have it: with escapes, as in an address."""
    return _OTHER.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)


def _name_of(mark: str) -> str:
    raw = _ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), mark.encode())
    return raw.decode(errors="replace")
