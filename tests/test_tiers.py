"""The tiers name tests that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tiers import CANARIES, QUICK, VOLUME, is_volume

TESTS = Path(__file__).parent


@pytest.mark.parametrize("place", [*VOLUME, *QUICK])
def test_a_file_or_folder_of_a_tier_exists(place: str) -> None:
    assert (TESTS / place).exists()


@pytest.mark.parametrize("place", CANARIES)
def test_a_canary_is_a_quick_test_of_a_volume_file(place: str) -> None:
    file, _, name = place.partition("::")
    assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8")
    assert not is_volume(place)
    assert not is_volume(f"{place}[some case]")
    assert is_volume(f"{file}::test_another")


def test_a_test_outside_of_the_volume_is_quick() -> None:
    assert not is_volume("core/test_times.py::test_a_time")
    assert not is_volume("agents/claude/test_hooks.py::test_a_hook")
