"""Properties of every frame."""

from __future__ import annotations

from turnwire.dialects.v2 import frames as f
from turnwire.dialects.v2.codec import decode
from turnwire.dialects.v2.opening import replay_complete

NOW = "2026-01-01T12:00:00.000Z"


def test_a_frame_names_its_type_as_it_is_on_the_wire() -> None:
    assert replay_complete("c", 3, NOW).type == "session.replay_complete"


def test_a_frame_that_is_not_known_names_the_type_that_it_came_with() -> None:
    frame = decode(b'{"type":"session.brand_new"}')
    assert isinstance(frame, f.UnknownFrame)
    assert frame.type == "session.brand_new"
