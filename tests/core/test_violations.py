"""Violations: the first ones are kept, all are counted."""

from __future__ import annotations

from turnwire.core.violations import Violation, Violations


def test_violations_are_sorted_by_line() -> None:
    found = Violations()
    found.add("later", 9, "b")
    found.add("earlier", 2, "a")
    assert found.in_order() == [Violation("earlier", 2, "a"), Violation("later", 9, "b")]


def test_only_the_first_thousand_are_kept() -> None:
    found = Violations()
    for line in range(1500):
        found.add("again", line, "")
    assert (found.count, len(found.in_order()), found.in_order()[-1].line) == (1500, 1000, 999)
