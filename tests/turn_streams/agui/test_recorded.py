"""Recorded streams as runs of AG-UI: the history is what a client has, and cuts lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.all_recordings import DEMO_SCENES, events_in
from tests.helpers.recorded_streams import RECORDED
from tests.turn_streams.agui.helpers.cuts import check_cuts
from tests.turn_streams.agui.helpers.streams import (
    assembled,
    frames_of,
    history,
    recorded_frames,
    runs_of,
)
from tests.turn_streams.agui.helpers.trees import tree_of_frames, tree_of_messages
from turnwire.turn_streams.agui.runs import RunsWriter


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_client_has_the_view_and_the_history(path: Path) -> None:
    frames = frames_of(path)
    runs, _ = runs_of(frames)
    seen = tree_of_messages(assembled(*runs))
    assert seen == tree_of_frames(frames)
    assert tree_of_messages(history(frames)) == seen
    writer = RunsWriter()
    assert tree_of_messages(assembled(*map(writer.feed, frames))) == seen


@pytest.mark.parametrize("name", [each for each in DEMO_SCENES if each != "long"])
def test_a_client_has_the_view_of_a_scene_of_the_demo(name: str) -> None:
    frames = [frame for some in recorded_frames(events_in(name)) for frame in some]
    seen = tree_of_messages(assembled(*runs_of(frames)[0]))
    assert seen == tree_of_frames(frames)
    assert tree_of_messages(history(frames)) == seen


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_client_that_is_cut_off_at_some_frames_has_everything_once(path: Path) -> None:
    check_cuts(events_in(f"claude/{path.name}"), every=5)
