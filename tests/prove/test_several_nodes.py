"""A day on several nodes: one of them dies, stands still or is cut off, and the others go on.

Each crash point of messages between nodes is tried once here; `make prove ARGS="--nodes 2"` tries all points.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.prove.helpers.databases import Databases
from tests.prove.helpers.day_store import points_of
from tests.prove.several_nodes import AWAY, OWNS, is_deadly, points_in
from tests.prove.sweep import Plan, Restarts, run

BETWEEN = sorted({*points_of("sqlite", nodes=True)} - {*points_of("sqlite")})
# These need a fault before: another node dies, or this one is suspended.
OWN = {
    "takes_over": f"b@{OWNS}:10{AWAY} a@takes_over:1",
    "took_over": f"b@{OWNS}:10{AWAY} a@took_over:1",
    "expelled": "a@expelled:1+stop:0.5",
}


def a_plan(faults: str, part: str = "nothing", nodes: int = 2) -> Plan:
    return Plan(faults, tuple(faults.split()), part, nodes)


@pytest.mark.parametrize("point", BETWEEN)
def test_a_node_that_dies_at_a_message_leaves_a_day_that_is_finished(point: str) -> None:
    finished = run(a_plan(OWN.get(point, f"a@{point}:2{AWAY}")))
    assert not finished.violations
    assert finished.reached


def test_a_node_that_stood_still_for_longer_than_its_lease_writes_nothing_old() -> None:
    finished = run(a_plan("b@stop:0.5"))
    assert not finished.violations


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    with Databases() as some:
        yield some


def test_clocks_of_nodes_may_be_two_hours_apart(databases: Databases) -> None:
    assert not run(a_plan("b@kill:3", "has_another_clock_on_one_node"), databases).violations


@pytest.mark.parametrize("fault", ["a@store:0.5", "b@bus:0.5"])
def test_a_node_that_is_cut_off_loses_nothing(fault: str, databases: Databases) -> None:
    assert not run(a_plan(fault), databases).violations


def test_postgres_is_restarted_under_the_load_of_two_nodes() -> None:
    with Databases() as some, Restarts(some, 2, seed=1) as restarts:
        while not restarts.are_done:
            finished = run(a_plan("a@kill:3"), some)
            assert not finished.violations
            assert (finished.figures.lost, finished.figures.doubled) == (0, 0)


def test_only_deaths_and_crash_points_are_counted() -> None:
    plans = [a_plan("a@hints:1+rest:6 b@stop:1"), a_plan("b@kill:2 b@hints:3")]
    assert [plan.deaths_wanted for plan in plans] == [1, 2]
    assert points_in(plans) == 1
    assert not is_deadly("a@store:1+bus:2")
