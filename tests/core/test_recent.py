"""The bounded memory of recent keys."""

from __future__ import annotations

from turnwire.core.recent import Recent


def test_only_as_many_are_remembered_as_were_asked_for() -> None:
    seen = Recent(2)
    for name in ("a", "b", "b", "c"):
        seen.add(name)
    assert [name in seen for name in ("a", "b", "c")] == [False, True, True]


def test_a_name_is_new_once() -> None:
    seen = Recent(2)
    assert [seen.is_new(name) for name in ("a", "b", "a", "c", "a")] == [
        True,
        True,
        False,
        True,
        True,
    ]
