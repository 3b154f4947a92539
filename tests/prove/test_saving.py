"""A server that had the time to save a shown text must have it; delays that were measured count."""

from __future__ import annotations

import itertools

import pytest

from tests.prove.helpers import journal as j
from tests.prove.helpers.delays import TICK, RunningTime
from tests.prove.helpers.saving import Saves

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


_numbers = itertools.count(1)


def save(
    begin: float,
    end: float | None,
    *,
    is_written: bool = True,
    is_save: bool = True,
    pid: int = PID,
) -> list[j.Lines]:
    number = next(_numbers)
    lines: list[j.Lines] = [j.Writes(at=begin, pid=pid, talk=TALK, number=number, is_save=is_save)]
    if end is not None:
        lines.append(j.Wrote(at=end, pid=pid, number=number, is_written=is_written))
    return lines


def another_node_writes(at: float) -> list[j.Lines]:
    return save(at, at + 0.01, is_save=False, pid=PID + 1)


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


def test_text_that_is_in_a_commit_may_be_lost_with_it() -> None:
    lines = ticks((0, 1.6)), save(0.9, 1.05)
    assert must_hold(*lines)
    assert not must_hold(*lines, save(1.05, None, is_save=False))
    assert must_hold(*lines, save(1.05, 1.1, is_save=False))


def test_the_time_in_which_the_database_is_away_does_not_count() -> None:
    assert not must_hold(ticks((0, 1.6)), away=(1.05, 1.6))


@pytest.mark.parametrize("is_away", [True, False])
def test_a_save_may_fail_only_while_the_database_is_away(is_away: bool) -> None:
    lines = ticks((0, 1.3)), save(1.15, 1.25, is_written=False)
    assert must_hold(*lines, away=(1.1, 1.2) if is_away else None) is not is_away


def test_running_time_is_without_standstills_and_outages_each_counted_once() -> None:
    running = RunningTime(ticks((0, 1), (3, 4)), PID)
    assert running.seconds(0, 4) == pytest.approx(2 + TICK)
    assert running.seconds(0.5, 3.5) == pytest.approx(1 + TICK)
    away = [j.Away(at=0.9, until=3.2), j.Away(at=1.0, until=2.0)]
    assert running.seconds(0, 4, away) == pytest.approx(0.9 + 0.8)
    assert RunningTime([], PID).seconds(1, 2) == 1


def test_a_save_of_another_conversation_says_nothing() -> None:
    other: list[j.Lines] = [j.Writes(at=1.2, pid=PID, talk="other", number=0, is_save=True)]
    assert must_hold(ticks((0, 1.3)), other)


def test_an_expelled_node_saves_nothing_more() -> None:
    suspended = ticks((0, SHOWN + 0.02), (7.0, 8.0))
    late = save(7.1, 7.2, is_written=False)
    assert not must_hold(suspended, another_node_writes(5.0), late)
    assert must_hold(suspended, late), "it was not expelled, and had the time"


def test_a_node_that_had_the_time_before_it_was_expelled_must_have_saved() -> None:
    suspended = ticks((0, SHOWN + 0.5), (7.0, 8.0))
    assert must_hold(suspended, another_node_writes(5.0))


def test_text_that_an_expelled_node_shows_is_not_its_own_any_more() -> None:
    own = save(0.4, 0.5, is_save=False)
    assert not must_hold(ticks((0, 3)), own, another_node_writes(0.8))
    again = save(0.9, 0.95, is_save=False)
    assert must_hold(ticks((0, 3)), own, another_node_writes(0.8), again), "it got it back"


def test_a_save_that_was_running_when_its_node_was_suspended_may_be_lost() -> None:
    save_58 = save(SHOWN + 0.2, None)
    assert not must_hold(ticks((0, SHOWN + 0.25), (9.0, 9.05)), save_58)
    assert must_hold(ticks((0, 9.05)), save_58), "it had the time"
