"""The example `examples/ag-ui` in a real browser. It needs npm and Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.npm_packages import installed

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "ag-ui"
SCRIPT = Path(__file__).parent / "helpers" / "example.mjs"
PACKAGES = ["@ag-ui/client@1.0.0", "vite@7.3.8", "playwright-core@1.65.0"]


def test_the_example_talks_answers_stops_and_survives_a_reload_and_a_kill(tmp_path: Path) -> None:
    if not any(map(shutil.which, ("chromium", "chromium-headless-shell", "google-chrome"))):
        pytest.skip("there is no Chromium")
    assert len((EXAMPLE / "main.js").read_text().splitlines()) < 150
    packages = installed("ag-ui-example-2", PACKAGES)
    turnwire = Path(sys.executable).with_name("turnwire")
    command = ["node", str(SCRIPT), str(packages), str(EXAMPLE), str(tmp_path), str(turnwire)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    # The package itself throws this one, unhandled, when the server has died.
    assert [each for each in told["errors"] if each != "TypeError: network error"] == []
    assert any("Blue" in each for each in told["talked"])
    assert any("Green" in each and "Large" in each for each in told["talked"])
    assert len(told["stopped"]) == len(told["talked"]) + 2, "the message and the begun answer"
    assert told["second"] == told["reloaded"]
    assert told["reloaded"][: len(told["stopped"])] == told["stopped"]
    assert told["killed"][: len(told["reloaded"])] == told["reloaded"]
    # Growing text is saved once a second: of an answer that has just begun there may be none.
    assert told["killed"].count("userlong") == 3, "every message is there, once"
    assert told["again"] == told["last"]
    assert told["last"][: len(told["killed"])] == told["killed"]
