"""The examples with front ends of others in a real browser. They need npm and Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.npm_packages import installed

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPT = Path(__file__).parent / "helpers" / "front_end.mjs"
BROWSER = ["vite@7.3.8", "playwright-core@1.65.0"]
REACT = ["react@19.3.1", "react-dom@19.3.1"]
PACKAGES = {
    "ag-ui": ["@ag-ui/client@1.0.0"],
    "ai-sdk-6": [*REACT, "ai@6.0.326", "@ai-sdk/react@3.0.323"],
    "ai-sdk-7": [*REACT, "ai@7.0.173", "@ai-sdk/react@4.0.177"],
    "assistant-ui": [
        *REACT,
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
    [source] = example.glob("main.js*")
    assert len(source.read_text().splitlines()) < 150
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
    # `@ag-ui/client` itself throws this one, unhandled, when the server has died.
    own = "TypeError: network error" if name == "ag-ui" else None
    assert [each for each in told["errors"] if each != own] == []
    talked, stopped, reloaded, killed = (
        told[each] for each in ("talked", "stopped", "reloaded", "killed")
    )
    assert any("removed directory 'build'" in each for each in talked), "the permission was given"
    assert any("Blue" in each for each in talked)
    assert any("Green" in each and "Large" in each for each in talked), "the form is answered whole"
    assert stopped[: len(talked)] == talked
    assert len(stopped) == len(talked) + 2, "the message and the begun answer"
    assert reloaded == told["second"], "two tabs show the same"
    assert reloaded[: len(stopped)] == stopped
    assert killed[: len(reloaded)] == reloaded
    # Growing text is saved once a second: of an answer that has just begun there may be none.
    assert [each for each in killed if each.startswith("user")].count("userlong") == 3
    if name != "ag-ui":  # there an error is no message
        assert killed[-1].endswith("The server stopped.")
    assert told["last"][: len(killed)] == killed
    assert "Green" in told["last"][-1], "a question outlives the server"
    assert told["again"] == told["last"]
