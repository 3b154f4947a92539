"""Runs pytest as CI does: with TURNWIRE_RARE_FAILURES, a test that fails is tried again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.rare_failures import tried_again

__all__ = ["run"]

_FAILED = 1  # pytest's exit code for failed tests; all others mean that it could not run them


def run(arguments: list[str], rare: str | None) -> int:
    """Runs pytest, and returns the exit code."""
    if not rare:
        return _pytest(*arguments)
    with tempfile.TemporaryDirectory() as cache:
        code = _pytest("-o", f"cache_dir={cache}", *arguments)
        noted = Path(cache, "v/cache/lastfailed")
        if code != _FAILED or not noted.exists():
            return code
        failed = sorted(json.loads(noted.read_text()))
    options = _store_option(arguments)
    return tried_again(code, failed, lambda test: _pytest("-q", *options, test), rare)


def _store_option(arguments: list[str]) -> list[str]:
    """Returns `--store NAME`, which the tests depend on. What selects them is left out."""
    if "--store" not in arguments:
        return []
    place = arguments.index("--store")
    return arguments[place : place + 2]


def _pytest(*arguments: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], os.environ.get("TURNWIRE_RARE_FAILURES")))
