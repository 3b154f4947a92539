"""The frames of the client, as a program makes them."""

from __future__ import annotations

from typing import Any

import pytest

from turnwire.dialects.v2.commands import QueueChange


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("delete", "q1"), "there is no action delete; use one of: remove, replace, move, resume"),
        (("remove",), "`queue_id` is missing: remove needs it"),
        (("resume", "q1"), "`queue_id` is not for resume: leave it out"),
    ],
)
def test_an_invalid_change_of_the_queue_is_refused_with_advice(
    given: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        QueueChange(*given)
