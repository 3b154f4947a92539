"""Cuts the connection of a client at frames of a recording, and connects it again."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from tests.helpers.recorded_streams import events_of
from tests.turn_streams.agui.helpers.streams import (
    RUN,
    START,
    assembled,
    of_messages,
    of_view,
    recorded_frames,
    recording,
    runs_of,
    view_of,
)
from turnwire.dialects.agui import events as e
from turnwire.turn_streams.agui.writer import AguiWriter
from turnwire.turn_streams.place import place_of


def check_cuts(path: Path, *, every: int) -> int:
    """Raises AssertionError unless a client that was cut off has everything once. Returns the cuts.

    It connects again with all messages, and after its last event. `every`: 1 cuts at each frame.
    """
    events = events_of(path.read_bytes().splitlines())
    whole = recorded_frames(events)
    expected = of_view(view_of([frame for some in whole for frame in some]))
    live = recording()
    live.connect()
    before: list[e.Event] = []
    writer = AguiWriter(RUN, START)
    known = [*whole[0]]
    for frame in whole[0]:
        before += writer.feed(frame)
    numbers, cuts = count(), 0
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
            cuts += 1
            for place in (None, place_of(own_id)):
                later, _ = runs_of(rest, place)
                seen = of_messages(assembled(before[:length], *later))
                assert seen == expected, (cut, length, event, place)
    return cuts
