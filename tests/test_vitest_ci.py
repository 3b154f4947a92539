"""In CI a test of the page or of the TypeScript client is tried again, as pytest's are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.npm_packages import installed
from tools import rare_failures, vitest_ci

pytestmark = pytest.mark.volume

TESTS = """
import { existsSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";

test("a race (of 1, 2 | 3)?", () => {
  if (existsSync("seen")) return;
  writeFileSync("seen", "");
  expect("this time").toBe("not");
});
test("a race", () => {});
"""
BROKEN = 'import { test } from "vitest";\ntest("a fault", () => { throw new Error("always"); });\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(rare_failures, "TRIES", 2)
    (tmp_path / "node_modules").symlink_to(installed("vitest", ["vitest@4.1.12"]) / "node_modules")
    (tmp_path / "rare.test.js").write_text(TESTS)
    return tmp_path


def test_a_test_that_fails_once_is_named_and_stops_nothing(folder: Path) -> None:
    rare = folder / "rare.txt"
    assert vitest_ci.run(folder, [], str(rare)) == 0
    assert rare.read_text() == "rare.test.js > a race (of 1, 2 | 3)?\n"


def test_a_test_that_fails_again_stops_ci(folder: Path) -> None:
    (folder / "broken.test.js").write_text(BROKEN)
    assert vitest_ci.run(folder, [], str(folder / "rare.txt")) == 1
    assert not (folder / "rare.txt").exists()


def test_a_file_that_cannot_be_loaded_stops_ci(folder: Path) -> None:
    (folder / "broken.test.js").write_text('import "nothing of this name";')
    assert vitest_ci.run(folder, [], str(folder / "rare.txt")) == 1
    assert not (folder / "rare.txt").exists()


def test_on_a_developers_machine_a_failure_is_a_failure(folder: Path) -> None:
    assert vitest_ci.run(folder, [], None) == 1
