"""A client of AG-UI that is cut off at any frame of any recording has everything, once, in order.

Its connections are read by our own assembler, and by `@ag-ui/client`, which needs npm.
"""

from __future__ import annotations

import pytest

from tests.helpers.all_recordings import BOTH, DEMO_SCENES, RECORDINGS, events_in
from tests.turn_streams.agui.helpers.cuts import check_cuts, cuts_of, whole_tree
from tests.turn_streams.agui.helpers.judges import judged_streams
from tests.turn_streams.agui.helpers.streams import recorded_frames
from tests.turn_streams.agui.helpers.trees import tree_of_messages

GROUPS = 16
CUTS = {"long": 15}  # frames at which the connection of a long answer is cut
MOST_CUTS = 100


def every_of(name: str) -> int:
    """Returns 1 to cut at each frame, more for a scene with many frames."""
    if name not in DEMO_SCENES:
        return 1
    frames = sum(map(len, recorded_frames(events_in(name))))
    return max(1, frames // CUTS.get(name, MOST_CUTS))


def test_a_client_that_is_cut_off_at_any_frame_of_any_recording_has_everything_once() -> None:
    assert sum(check_cuts(events_in(name), every=1) for name in RECORDINGS) > 6000


@pytest.mark.parametrize("name", DEMO_SCENES)
def test_a_client_that_is_cut_off_in_any_scene_of_the_demo_has_everything_once(name: str) -> None:
    assert check_cuts(events_in(name), every=every_of(name)) > 20


def check_package(name: str) -> None:
    events = events_in(name)
    cuts = list(cuts_of(events, every=every_of(name)))
    expected = whole_tree(events)
    told = judged_streams([[cut.before, *cut.later] for cut in cuts])
    for cut, each in zip(cuts, told, strict=True):
        assert each["errors"] == [], (name, cut.about)
        assert tree_of_messages(each["messages"]) == expected, (name, cut.about)


@pytest.mark.parametrize("group", range(GROUPS))
def test_the_package_that_is_cut_off_at_any_frame_of_any_recording_has_our_view(group: int) -> None:
    names = BOTH[group::GROUPS]
    assert names
    for name in names:
        check_package(name)


@pytest.mark.parametrize("name", DEMO_SCENES)
def test_the_package_that_is_cut_off_in_any_scene_of_the_demo_has_our_view(name: str) -> None:
    check_package(name)
