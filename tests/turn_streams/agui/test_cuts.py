"""A client of AG-UI that is cut off at any frame of any recording has everything, once."""

from __future__ import annotations

from tests.helpers.recorded_streams import RECORDED
from tests.turn_streams.agui.helpers.cuts import check_cuts


def test_a_client_that_is_cut_off_at_any_frame_of_any_recording_has_everything_once() -> None:
    assert sum(check_cuts(path, every=1) for path in RECORDED) > 600
