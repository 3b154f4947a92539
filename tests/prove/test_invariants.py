"""The check of a history finds each invariant that is broken, under its name."""

from __future__ import annotations

import pytest

from tests.prove.helpers.databases import Databases
from tests.prove.helpers.invariants import INVARIANTS
from tests.prove.sweep import Plan, all_runs

# The invariant that each part breaks, and the crash point at which it shows.
BROKEN = {
    "persist before publish": Plan("1", part="tells_before_it_writes"),
    "dense": Plan("2", part="loses_an_entry"),
    "contiguous": Plan("3", part="drops_a_frame"),
    "seam": Plan("4", part="subscribes_late"),
    "the bus is a hint": Plan("5", part="trusts_the_bus"),
    "epoch": Plan("6", part="ignores_the_epoch"),
    "ack means durable": Plan("7", part="forgets_who_waits"),
    "bounded queue": Plan("8", part="reverses_the_queue"),
    "no orphan": Plan("10", ("delivered:1",), "lets_processes_live"),
    "tool closure": Plan("11", part="leaves_calls_open"),
    "asked once": Plan("12", part="forgets_what_was_asked"),
    "truthful state": Plan("13", ("delivers:1",), "recovers_nothing"),
    "interrupt ends": Plan("14", part="never_stops"),
    "what was shown stays": Plan("17", ("saved:1000000",), "saves_nothing"),
}


GROUPS = [list(BROKEN)[first::3] for first in range(3)]  # a few at once: they wait most of the time


@pytest.mark.parametrize("names", GROUPS, ids=", ".join)
def test_a_part_that_breaks_an_invariant_is_found_under_its_name(names: list[str]) -> None:
    wanted = [BROKEN[name] for name in names]
    found = {run.name: run for run in all_runs(wanted, workers=len(wanted))}
    for name in names:
        run = found[BROKEN[name].name]
        assert name in {violation.invariant for violation in run.violations}, run


def test_a_part_of_the_store_that_is_broken_is_found_on_postgres_too() -> None:
    names = ["persist before publish", "dense", "asked once", "what was shown stays"]
    with Databases() as databases:
        wanted = [BROKEN[name] for name in names]
        found = {run.name: run for run in all_runs(wanted, len(wanted), databases)}
    for name in names:
        run = found[BROKEN[name].name]
        assert name in {violation.invariant for violation in run.violations}, run


def test_every_invariant_has_a_broken_part() -> None:
    # Two writers take two servers: tests/prove/test_faults.py.
    assert list(INVARIANTS) == [*list(BROKEN)[:8], "one writer", *list(BROKEN)[8:]]
