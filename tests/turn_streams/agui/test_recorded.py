"""Recorded streams as runs of AG-UI: the history is what a client has, and cuts lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.recorded_streams import RECORDED, events_of
from tests.turn_streams.agui.helpers.streams import (
    RUN,
    START,
    assembled,
    frames_of,
    history,
    of_messages,
    of_view,
    recorded_frames,
    recording,
    runs_of,
    view_of,
)
from turnwire.dialects.agui import events as e
from turnwire.turn_streams.agui.place import place_of
from turnwire.turn_streams.agui.runs import RunsWriter
from turnwire.turn_streams.agui.writer import AguiWriter

CUTS = 15  # of one recording


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_client_has_the_view_and_the_history(path: Path) -> None:
    frames = frames_of(path)
    runs, _ = runs_of(frames)
    seen = of_messages(assembled(*runs))
    assert seen == of_view(view_of(frames))
    assert of_messages(history(frames)) == seen
    writer = RunsWriter()
    assert of_messages(assembled(*map(writer.feed, frames))) == seen


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_client_that_is_cut_off_anywhere_has_everything_once(path: Path) -> None:
    events = events_of(path.read_bytes().splitlines())
    whole = recorded_frames(events)
    expected = of_view(view_of([frame for some in whole for frame in some]))
    live = recording()
    live.connect()
    before: list[e.Event] = []
    writer = AguiWriter(RUN, START)
    every = max(1, len(events) // CUTS)
    known = [*whole[0]]
    for frame in whole[0]:
        before += writer.feed(frame)
    for cut, event in enumerate(events):
        live.feed(event)
        for frame in whole[cut + 1]:
            if writer.is_over:
                writer = AguiWriter(RUN, place_of(writer.event_id or ""))
                for each in known:
                    writer.feed(each)
            before += writer.feed(frame)
        known += [frame for frame in whole[cut + 1] if frame.turn_id is not None]
        if cut % every or writer.event_id is None:
            continue
        rest = [*live.connect(), *(frame for some in whole[cut + 2 :] for frame in some)]
        for place in (None, place_of(writer.event_id)):
            later, _ = runs_of(rest, place)
            assert of_messages(assembled(before, *later)) == expected, (cut, event, place)
