"""The opening of a connection: the table of section 9, row by row."""

from __future__ import annotations

import pytest

from turnwire.core.opening import Start, start_of


@pytest.mark.parametrize(
    ("last_sequence", "epoch", "tail", "start"),
    [
        (0, None, None, Start(0)),
        (0, "e-1", None, Start(0)),
        (3, None, None, Start(3, resumed=True)),
        (3, "e-1", None, Start(3, resumed=True)),
        (10, "e-1", None, Start(10, resumed=True)),
        (11, "e-1", None, Start(0, "beyond_head")),
        (11, None, 4, Start(6, "beyond_head")),
        (3, "e-0", None, Start(0, "epoch")),
        (0, "e-0", None, Start(0, "epoch")),
        (11, "e-0", 4, Start(6, "epoch")),
        (0, None, 4, Start(6)),
        (0, None, 40, Start(0)),
        (5, None, 4, Start(6, "tail")),
        (6, None, 4, Start(6, resumed=True)),
        (9, "e-1", 4, Start(9, resumed=True)),
    ],
)
def test_a_cursor_leads_to_a_replay_a_reset_or_nothing(
    last_sequence: int, epoch: str | None, tail: int | None, start: Start
) -> None:
    assert start_of(last_sequence, epoch, tail, head=10, epoch_now="e-1") == start
