"""A server that had the time to save a shown text must have it; delays that were measured count."""

from __future__ import annotations

import pytest

from tests.prove.helpers import journal as j
from tests.prove.helpers.saving import TICK, Saves

PID = 7
BEGAN = j.Began(at=0.0, pid=PID, epoch="e", lease=3.0, save_every=0.05)
SHOWN = 1.0
TALK = "words"


def ticks(*spans: tuple[float, float]) -> list[j.Lines]:
    """The lines of an event loop that runs in these times, and stands still between them."""
    return [
        j.Ticked(at=begin + TICK * number, pid=PID)
        for begin, end in spans
        for number in range(int((end - begin) / TICK) + 1)
    ]


def save(begin: float, end: float | None, *, is_saved: bool = True) -> list[j.Lines]:
    lines: list[j.Lines] = [j.Saves(at=begin, pid=PID, talk=TALK)]
    if end is not None:
        lines.append(j.Saved(at=end, pid=PID, talk=TALK, is_saved=is_saved))
    return lines


def must_hold(*lines: list[j.Lines], away: tuple[float, float] | None = None) -> bool:
    outages = [j.Away(at=away[0], until=away[1])] if away else []
    ordered = sorted((each for some in lines for each in some), key=lambda line: line.at)
    return Saves(ordered, BEGAN, outages).have_to_hold(TALK, SHOWN)


def test_text_that_a_later_save_wrote_must_be_there() -> None:
    assert must_hold(ticks((0, 1.3)), save(1.2, 1.25))


def test_text_for_which_no_save_began_in_time_must_be_there() -> None:
    assert must_hold(ticks((0, 1.3)))
    assert must_hold(ticks((0, 1.3)), save(0.8, 0.9)), "a save before it does not count"


def test_text_that_was_shown_just_before_the_end_may_be_lost() -> None:
    assert not must_hold(ticks((0, 1.1)))


def test_the_time_in_which_the_event_loop_stood_still_does_not_count() -> None:
    assert not must_hold(ticks((0, 1.02), (2.5, 2.54)))
    assert must_hold(ticks((0, 1.02), (2.5, 2.8)))


def test_the_time_of_a_write_does_not_count() -> None:
    assert not must_hold(ticks((0, 1.6)), save(1.2, None)), "killed during the write"
    assert not must_hold(ticks((0, 1.6)), save(0.9, 1.5)), "the text came during the write"
    assert must_hold(ticks((0, 1.8)), save(0.9, 1.5))
    assert must_hold(ticks((0, 8.0)), save(1.2, None)), "no write may take so long"


@pytest.mark.parametrize("is_away", [True, False])
def test_a_save_may_fail_only_while_the_database_is_away(is_away: bool) -> None:
    lines = ticks((0, 1.3)), save(1.15, 1.25, is_saved=False)
    assert must_hold(*lines, away=(1.1, 1.2) if is_away else None) is not is_away


def test_a_save_of_another_conversation_says_nothing() -> None:
    other: list[j.Lines] = [j.Saves(at=1.2, pid=PID, talk="other")]
    assert must_hold(ticks((0, 1.3)), other)
