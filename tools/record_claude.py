"""Records the tests with the real Claude Code: `python -m tools.record_claude`.

Each test becomes recordings of both directions: `fixtures/claude_live/NAME_1.io.jsonl` and so on,
one for each process that the test started and that produced output. Paths of this machine and long
lists without information are removed.

Many of these tests were merged under other names after the recordings were made. They now use more
than `tests/agents/claude/test_recordings.py` can play: controls, hooks, tools of the application,
forks. Before a new recording, that player must support them, and its `FIRST` must have the new
names. Until then the fixtures are those of the earlier tests.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures" / "claude_live"
_PLACE = re.compile(r"/[^\s\"'\\]*?/(?:test_\w+?0?)/(work|home)")
_SLUG = re.compile(r"-tmp-[\w-]*?-work\b")
# The paths that every recording shows instead of the real ones.
_CALLED = {"work": "/workspace", "home": "/home"}
_INSTALLED = re.compile(r"/[^\s\"']*/site-packages/")
_SOCKET = re.compile(r"/tmp/cc-socks/\d+\.sock")
# Tests that are too long to keep, or full of paths of this machine.
_LEFT_OUT = "not fifty and not agent_port and not very_long and not no_key"
_LONG = ("commands", "models", "slash_commands", "skills", "agents", "terminal_slash_commands")


def main() -> int:
    """Records all tests again."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "tests/agents/claude"]
        env = {**os.environ, "TURNWIRE_RECORD_CLAUDE": folder}
        if subprocess.run([*command, "-k", _LEFT_OUT], cwd=ROOT, env=env, check=False).returncode:
            return 1
        for path in FIXTURES.iterdir():
            path.unlink()
        for place in sorted(Path(folder).iterdir()):
            _keep(place)
    return 0


def _keep(place: Path) -> None:
    """Stores the recordings of one test, one for each of its processes."""
    name = re.sub(r"\W+", "_", place.name.removeprefix("test_")).strip("_")
    for number, path in enumerate(sorted(place.glob("*.io.jsonl")), 1):
        lines = [
            json.loads(_PLACE.sub(lambda at: _CALLED[at[1]], line))
            for line in path.read_text().splitlines()
        ]
        if all(line["dir"] == "in" for line in lines):
            continue  # the process produced no output, so there is nothing to play
        lines = [_shortened(line) for line in lines]
        kept = FIXTURES / f"{name}_{number}.io.jsonl"
        kept.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def _shortened(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: item[:1] if key in _LONG and isinstance(item, list) else _shortened(item)
                for key, item in value.items()
            }
        case list():
            return [_shortened(item) for item in value]
        case str():
            value = _SOCKET.sub("/tmp/agent.sock", _INSTALLED.sub("/site-packages/", value))
            return _SLUG.sub("-workspace", value)
        case _:
            return value


if __name__ == "__main__":
    sys.exit(main())
