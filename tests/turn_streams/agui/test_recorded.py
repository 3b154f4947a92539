"""Recorded streams as runs of AG-UI: the history is what a client has, and cuts lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.recorded_streams import RECORDED
from tests.turn_streams.agui.helpers.cuts import check_cuts
from tests.turn_streams.agui.helpers.streams import (
    assembled,
    frames_of,
    history,
    of_messages,
    of_view,
    runs_of,
    view_of,
)
from turnwire.turn_streams.agui.runs import RunsWriter


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
def test_a_client_that_is_cut_off_at_some_frames_has_everything_once(path: Path) -> None:
    check_cuts(path, every=5)
