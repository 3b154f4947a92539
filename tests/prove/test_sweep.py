"""A day is killed at every crash point, finished by the next server, and nothing is wrong with it.

This is a part of it that is quick enough for every run: each point once. `make prove` tries more.
"""

from __future__ import annotations

import pytest

from tests.prove.sweep import Plan, all_kills, all_runs, counts, places, plans, run
from turnwire.crash_points import CrashPoint

# Where each point is passed in the middle of things; no two days are the same, so these are guesses.
PLACES = {
    "sqlite_commits": 45,
    "sqlite_committed": 60,
    "claimed": 3,
    "renews": 3,
    "renewed": 2,
    "ask_stepped": 9,
    "ask_written": 14,
    "ask_acknowledged": 17,
    "step_made": 25,
    "step_written": 20,
    "saves": 15,
    "saved": 22,
    "publishes": 150,
    "published": 90,
    "hints": 40,
    "hinted": 55,
    "catch_up_publishes": 4,
    "catch_up_published": 6,
    "agent_opens": 2,
    "agent_opened": 3,
    "prompts": 6,
    "prompted": 5,
    "delivers": 2,
    "delivered": 3,
}


POINTS = [point.name.lower() for point in CrashPoint]
GROUPS = [POINTS[first::9] for first in range(9)]  # a few at once: they wait most of the time


@pytest.mark.parametrize("points", GROUPS, ids=" ".join)
def test_a_day_that_dies_at_a_crash_point_is_finished_truthfully(points: list[str]) -> None:
    wanted = [Plan(point, (f"{point}:{PLACES.get(point, 1)}",)) for point in points]
    for finished in all_runs(wanted, workers=len(points)):
        assert not finished.violations, finished.name
        if not finished.reached:  # a slow machine puts more together, and passes it less often
            first = run(Plan(finished.name, (f"{finished.name}:1",)))
            assert not first.violations, finished.name
            assert first.reached, finished.name


def test_a_day_that_dies_when_a_step_was_written_is_finished_truthfully() -> None:
    finished = run(Plan("step_written", ("step_written:1",)))
    assert finished.reached
    assert not finished.violations


def test_nothing_is_lost_or_doubled_by_three_kills_at_any_moment() -> None:
    check_kills(3)


def test_nothing_is_lost_or_doubled_by_twenty_kills_at_any_moment() -> None:
    check_kills(20)


def check_kills(count: int) -> None:
    deaths = 0
    for finished in all_kills(count, seed=count, workers=4):
        deaths += finished.deaths
        assert not finished.violations, finished.name
    assert deaths >= count


def test_a_clock_that_is_set_all_day_changes_nothing() -> None:
    assert not run(Plan("clock", part="sets_the_clock")).violations


def test_a_day_passes_every_point() -> None:
    passed = counts()
    assert passed.keys() == {point.name.lower() for point in CrashPoint}
    assert all(passed.values())


def test_places_are_spread_over_all_passings() -> None:
    assert places(1, 6) == [1]
    assert places(3, 6) == [1, 2, 3]
    assert places(1000, 3) == [1, 425, 850]
    assert places(100, 1) == [42]


def test_every_point_is_tried_and_once_more_while_it_recovers() -> None:
    wanted = plans({"hints": 100, "spawns": 1}, 2)
    names = ["hints:1", "hints:85", "spawns:1", "hints:42+1", "spawns:1+1"]
    assert [plan.name for plan in wanted] == names
    assert wanted[-1].deaths == ("spawns:1", "spawns:1")
