"""Cuts the stream of a turn at frames of a recording, and resumes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.turn_streams.aisdk.helpers.streams import (
    assembled,
    recorded_frames,
    shown,
    streams_of,
    turns_in,
)
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.aisdk import chunks as u
from turnwire.dialects.v2 import frames as f
from turnwire.engine.recording_view import Recording

__all__ = ["Cut", "cuts_of"]


class Cut(NamedTuple):
    """What one page got of a turn: until its connection broke, and after it resumed."""

    about: tuple[object, ...]
    before: list[list[u.Chunk]]  # the last stream is cut
    later: list[list[u.Chunk]]  # the resumed stream, and those after replies
    whole: Any  # the message, as `shown`


def cuts_of(
    events: Sequence[NormalizedStreamEvent], *, every: int, version: int = 7
) -> Iterator[Cut]:
    """Yields the cuts at each chunk, or at every so many, while a turn runs.

    While a turn waits for a person, no stream is open.
    """
    frames = recorded_frames(events)
    flat = [frame for some in frames for frame in some]
    whole = {
        turn: shown(assembled(streams_of(flat, turn, version=version))) for turn in turns_in(flat)
    }
    recording = Recording("conv-1", trace_of=lambda turn: f"{turn:032x}", keep=True)
    recording.connect()
    known = [*frames[0]]
    last: list[list[u.Chunk]] = []
    for cut, event in enumerate(events):
        recording.feed(event)
        known += frames[cut + 1]
        first = recording.connect()
        [status] = [each.payload for each in first if isinstance(each, f.SessionState)]
        turn = status.turn_id
        if turn is None or any(each.turn_id == turn for each in status.requests):
            continue
        before = streams_of(known, turn, version=version)
        if not before[0] or before == last or cut % every:
            continue
        last = before
        rest = [frame for some in frames[cut + 2 :] for frame in some]
        later = streams_of(rest, turn, version=version, first=first)
        yield Cut((cut, event), before, later, whole[turn])
