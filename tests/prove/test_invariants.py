"""The check of a history finds each invariant that is broken, under its name, and nothing in a good one."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.prove.history import History
from tests.prove.invariants import INVARIANTS, violations
from tests.prove.journal import Began, Opened
from tests.prove.sweep import Plan, live, run

# Which part breaks what, and where the day has to die for it to show.
BROKEN = {
    "persist before publish": Plan("1", part="tells_before_it_writes"),
    "dense": Plan("2", part="loses_an_entry"),
    "contiguous": Plan("3", part="drops_a_frame"),
    "seam": Plan("4", part="subscribes_late"),
    "the bus is a hint": Plan("5", part="trusts_the_bus"),
    "epoch": Plan("6", part="ignores_the_epoch"),
    "ack means durable": Plan("7", ("prompted:4",), "tells_before_it_writes"),
    "bounded queue": Plan("8", part="reverses_the_queue"),
    "no orphan": Plan("10", ("delivered:1",), "lets_processes_live"),
    "tool closure": Plan("11", part="leaves_calls_open"),
    "asked once": Plan("12", part="forgets_what_was_asked"),
    "truthful state": Plan("13", ("delivers:1",), "recovers_nothing"),
    "interrupt ends": Plan("14", part="never_stops"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_part_that_breaks_an_invariant_is_found_under_its_name(name: str) -> None:
    found = run(BROKEN[name])
    assert name in {violation.invariant for violation in found.violations}, found


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> History:
    """A day with a death in it."""
    folder = tmp_path_factory.mktemp("day")
    assert live(Plan("good", ("delivers:2",)), folder)
    return History.read(folder)


def test_a_good_day_is_found_to_be_good(good: History) -> None:
    assert not violations(good)


def test_what_a_server_writes_after_another_took_over_is_found(good: History) -> None:
    first, second = (line.pid for line in good.of(Began))
    other = {first: second, second: first}
    lines = [
        structs.replace(line, server=other[line.server]) if isinstance(line, Opened) else line
        for line in good.lines
    ]
    found = violations(History(lines, good.logs, good.epoch))
    assert {violation.invariant for violation in found} == {"one writer"}


def test_every_invariant_has_a_part_that_breaks_it() -> None:
    assert list(INVARIANTS) == [*list(BROKEN)[:8], "one writer", *list(BROKEN)[8:]]
