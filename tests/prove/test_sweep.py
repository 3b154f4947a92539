"""A day is killed at every crash point, finished by the next server, and has no violations.

This is a part of it that is quick enough for every run: each point once. `make prove` tries more.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.agents.helpers.processes import wait_until_gone
from tests.prove.helpers.databases import Databases
from tests.prove.helpers.day_store import points_of
from tests.prove.helpers.figures import Figures
from tests.prove.sweep import (
    LONGEST,
    Plan,
    Restarts,
    all_kills,
    all_runs,
    counts,
    more_kills,
    places,
    plans,
    run,
)
from turnwire.agents.guard import descendants_of, running

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


POINTS = points_of("sqlite")
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


def test_three_kills_at_random_moments_lose_and_repeat_no_entry() -> None:
    check_kills(3)


def test_twenty_kills_at_random_moments_lose_and_repeat_no_entry() -> None:
    check_kills(20)


def check_kills(count: int, databases: Databases | None = None) -> None:
    deaths = 0
    for finished in all_kills(count, seed=count, workers=4, databases=databases):
        deaths += finished.deaths
        assert not finished.violations, finished.name
    assert deaths >= count


def test_a_clock_that_is_set_all_day_changes_nothing() -> None:
    assert not run(Plan("clock", part="sets_the_clock")).violations


def test_a_day_passes_every_point() -> None:
    passed = counts()
    assert list(passed) == points_of("sqlite")
    assert all(passed.values())


def test_kills_are_spread_over_all_passes_of_a_crash_point() -> None:
    assert places(1, 6) == [1]
    assert places(3, 6) == [1, 2, 3]
    assert places(1000, 3) == [1, 425, 850]
    assert places(100, 1) == [42]


def test_every_point_is_tried_and_once_more_while_it_recovers() -> None:
    wanted = plans({"hints": 100, "spawns": 1}, 2)
    names = ["hints:1", "hints:85", "spawns:1", "hints:42+1", "spawns:1+1"]
    assert [plan.name for plan in wanted] == names
    assert wanted[-1].deaths == ("spawns:1", "spawns:1")


# --- on PostgreSQL --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with Databases() as some:
        yield some


def test_a_day_on_postgres_that_dies_when_its_batch_is_written_is_finished_truthfully(
    databases: Databases,
) -> None:
    finished = run(Plan("postgres_sent", ("postgres_sent:40",)), databases)
    assert finished.reached
    assert not finished.violations


def test_a_day_on_postgres_that_dies_while_a_commit_is_in_doubt_is_finished_truthfully(
    databases: Databases,
) -> None:
    wanted = [Plan(name, (f"{name}:1",)) for name in ("postgres_settles", "postgres_settled")]
    for finished in all_runs(wanted, workers=2, databases=databases):
        assert finished.reached, finished.name
        assert not finished.violations, finished.name


def test_three_kills_on_postgres_lose_and_repeat_no_entry(databases: Databases) -> None:
    check_kills(3, databases)


def test_kills_and_restarts_of_postgres_lose_and_double_nothing_and_leave_nothing_in_doubt() -> (
    None
):
    figures = Figures()
    with Databases() as some, Restarts(some, 4, seed=1) as restarts:
        for finished in more_kills(restarts, 1, some):
            figures.add(finished.figures)
            assert not finished.violations, finished.name
    assert restarts.done.total() == 4
    assert figures.acknowledged > 10
    assert figures.in_doubt > 0
    assert (figures.lost, figures.doubled, figures.unsettled) == (0, 0, 0)


def test_a_day_on_postgres_passes_every_point(databases: Databases) -> None:
    passed = counts(databases)
    assert list(passed) == points_of("postgres")
    assert all(passed.values())


def test_a_killed_sweep_on_postgres_leaves_nothing_behind(tmp_path: Path) -> None:
    sweep = subprocess.Popen(
        [sys.executable, "-m", "tests.prove.sweep", "--store", "postgres", "--kills", "5"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: bool(list(tmp_path.glob("*/*/journal"))), "a day under way")
        address = urlsplit(next(tmp_path.glob("*/*/address")).read_text())
        server = Path(parse_qs(address.query)["host"][0])
        assert server.is_dir()
        postmaster = int((server / "data" / "postmaster.pid").read_text().split()[0])
        roots = (sweep.pid, postmaster)
        below = [each.pid for root in roots for each in descendants_of(root, running())]
        processes = [postmaster, *below]
        assert len(processes) > 3, "a day, the server and its backends"
    finally:
        sweep.send_signal(signal.SIGKILL)
        sweep.wait()
    assert not wait_until_gone(processes)
    assert not list(tmp_path.iterdir())
    assert not server.exists()


def until(happened: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + LONGEST
    while not happened():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
