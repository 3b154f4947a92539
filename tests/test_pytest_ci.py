"""In CI a test that fails is tried again: one that fails always stops it, a rare one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import pytest_ci, rare_failures

RARE = """
from pathlib import Path

def test_a_race():
    seen = Path(__file__).with_name("seen")
    if not seen.exists():
        seen.touch()
        raise AssertionError("this time")
"""
BROKEN = "def test_a_fault():\n    assert False\n"


@pytest.fixture
def rare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rare_failures, "TRIES", 2)
    return tmp_path / "rare.txt"


def test_a_test_that_fails_once_is_named_and_stops_nothing(rare: Path) -> None:
    rare.with_name("test_rare.py").write_text(RARE)
    assert pytest_ci.run(["-q"], str(rare)) == 0
    assert rare.read_text() == "test_rare.py::test_a_race\n"


def test_a_test_that_fails_again_stops_ci(rare: Path) -> None:
    rare.with_name("test_rare.py").write_text(RARE)
    rare.with_name("test_broken.py").write_text(BROKEN)
    assert pytest_ci.run(["-q"], str(rare)) == 1
    assert not rare.exists()


def test_many_that_fail_at_once_are_no_accident(rare: Path) -> None:
    for number in range(rare_failures.MOST + 1):
        (rare.parent / str(number)).mkdir()
        (rare.parent / str(number) / f"test_rare_{number}.py").write_text(RARE)
    assert pytest_ci.run(["-q"], str(rare)) == 1
    assert not rare.exists()


def test_tests_that_could_not_be_collected_stop_ci(rare: Path) -> None:
    rare.with_name("test_rare.py").write_text("import nothing_of_this_name")
    assert pytest_ci.run(["-q"], str(rare)) == 2


def test_on_a_developers_machine_a_failure_is_a_failure(rare: Path) -> None:
    rare.with_name("test_rare.py").write_text(RARE)
    assert pytest_ci.run(["-q"], None) == 1


def test_an_option_that_the_tests_depend_on_is_kept_for_further_tries(rare: Path) -> None:
    rare.with_name("conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--store')\n"
    )
    needs = RARE.replace(
        "def test_a_race():", "def test_a_race(request):\n    assert request.config.option.store"
    )
    rare.with_name("test_rare.py").write_text(needs)
    assert pytest_ci.run(["-q", "--store", "postgres", "test_rare.py"], str(rare)) == 0
    assert rare.exists()
