"""Cuts the connection of a client at frames of a recording, and connects it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

from tests.turn_streams.agui.helpers.streams import (
    RUN,
    START,
    assembled,
    recorded_frames,
    recording,
    runs_of,
)
from tests.turn_streams.agui.helpers.trees import Tree, tree_of_frames, tree_of_messages
from turnwire.core.events import NormalizedStreamEvent
from turnwire.dialects.agui import events as e
from turnwire.turn_streams.agui.writer import AguiWriter
from turnwire.turn_streams.place import place_of

__all__ = ["Cut", "check_cuts", "cuts_of", "whole_tree"]


class Cut(NamedTuple):
    """What one client was sent: until its connection broke, and after it connected again."""

    about: tuple[object, ...]
    before: list[e.Event]
    later: list[list[e.Event]]  # the runs of the second connection


def whole_tree(events: Sequence[NormalizedStreamEvent]) -> Tree:
    """Returns what a person sees whose connection never broke."""
    return tree_of_frames(frame for some in recorded_frames(events) for frame in some)


def cuts_of(events: Sequence[NormalizedStreamEvent], *, every: int) -> Iterator[Cut]:
    """Yields what clients got that were cut off, at each frame or at every so many.

    Each connects again twice: for all messages, and after its last event.
    """
    whole = recorded_frames(events)
    live = recording()
    live.connect()
    before: list[e.Event] = []
    writer = AguiWriter(RUN, START)
    known = [*whole[0]]
    for frame in whole[0]:
        before += writer.feed(frame)
    numbers = count()
    for cut, event in enumerate(events):
        live.feed(event)
        places: dict[int, str] = {}  # the place of a client that has so many events
        for frame in whole[cut + 1]:
            if writer.is_over:
                writer = AguiWriter(RUN, place_of(writer.event_id or ""))
                for each in known:
                    writer.feed(each)
            before += writer.feed(frame)
            if next(numbers) % every == 0 and writer.event_id is not None:
                places[len(before)] = writer.event_id
        known += [frame for frame in whole[cut + 1] if frame.turn_id is not None]
        rest = [*live.connect(), *(frame for some in whole[cut + 2 :] for frame in some)]
        for length, own_id in places.items():
            for place in (None, place_of(own_id)):
                yield Cut((cut, length, event, place), before[:length], runs_of(rest, place)[0])


def check_cuts(events: Sequence[NormalizedStreamEvent], *, every: int) -> int:
    """Raises AssertionError unless each client that was cut off has everything once, in order.

    Returns the number of cuts.
    """
    expected, cuts = whole_tree(events), 0
    for cut in cuts_of(events, every=every):
        assert tree_of_messages(assembled(cut.before, *cut.later)) == expected, cut.about
        cuts += 1
    return cuts
