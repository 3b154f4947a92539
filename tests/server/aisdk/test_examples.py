"""The examples `ai-sdk` and `assistant-ui` in a real browser. They need npm and Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.npm_packages import installed

EXAMPLES = Path(__file__).parents[3] / "examples"
SCRIPT = Path(__file__).parent / "helpers" / "example.mjs"
BROWSER = ["react@19.3.1", "react-dom@19.3.1", "vite@7.3.8", "playwright-core@1.65.0"]
PACKAGES = {
    "ai-sdk-6": ["ai@6.0.326", "@ai-sdk/react@3.0.323"],
    "ai-sdk-7": ["ai@7.0.173", "@ai-sdk/react@4.0.177"],
    "assistant-ui": [
        "ai@7.0.173",
        "@ai-sdk/react@4.0.177",
        "@assistant-ui/ai-sdk@0.0.7",
        "@assistant-ui/react@0.15.20",
    ],
}


@pytest.mark.parametrize("name", PACKAGES)
def test_the_page_talks_answers_stops_and_survives_a_reload_and_a_kill(
    name: str, tmp_path: Path
) -> None:
    if not any(map(shutil.which, ("chromium", "chromium-headless-shell", "google-chrome"))):
        pytest.skip("there is no Chromium")
    example = EXAMPLES / name.rstrip("-67")
    assert len((example / "main.jsx").read_text().splitlines()) < 150
    packages = installed(f"{name}-example", PACKAGES[name] + BROWSER)
    page, data = tmp_path / "page", tmp_path / "data"
    shutil.copytree(example, page, ignore=shutil.ignore_patterns("node_modules"))
    (page / "node_modules").symlink_to(packages / "node_modules")
    data.mkdir()
    turnwire = Path(sys.executable).with_name("turnwire")
    command = ["node", str(SCRIPT), str(page), str(data), str(turnwire)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-5000:]
    told = json.loads(done.stdout)
    assert told["errors"] == []
    talked, stopped, reloaded, killed = (
        told[each] for each in ("talked", "stopped", "reloaded", "killed")
    )
    assert "removed directory 'build'" in talked[1], "the permission was given"
    assert "Blue" in talked[3]
    assert "Green" in talked[5], "a form is answered as a whole"
    assert "Large" in talked[5]
    assert stopped[: len(talked)] == talked
    assert len(stopped) == len(talked) + 2, "the message and the begun answer"
    assert reloaded == told["second"], "two tabs show the same"
    assert reloaded[: len(stopped)] == stopped
    assert killed[: len(reloaded)] == reloaded
    # Growing text is saved once a second: of an answer that has just begun there may be none.
    assert [each for each in killed if each.startswith("user")].count("userlong") == 3
    assert killed[-1].endswith("The server stopped.")
    assert told["last"][: len(killed)] == killed
    assert "Green" in told["last"][-1], "a question outlives the server"
    assert told["again"] == told["last"]
