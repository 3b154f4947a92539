"""Runs pytest as CI does: a test that fails is tried again, and named if it failed only once.

Thousands of tests kill processes and cut connections here. A race that shows once in a thousand runs
is a defect, but it says nothing about the change that is tested. So a test that has failed is run
`TRIES` more times: if it fails again, so does CI. If not, it is written to the file that
TURNWIRE_RARE_FAILURES names, and CI prints that file at its end. Without this variable, pytest runs
as it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["run"]

TRIES = 5
MOST = 3  # tests that may fail: more of them are no accident
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
    if not failed or len(failed) > MOST:
        return code
    options = _store_option(arguments)
    for test in failed:
        for number in range(1, TRIES + 1):
            print(f"\n{test} has failed. Try {number} of {TRIES}:", flush=True)
            if _pytest("-q", *options, test):
                return code
    with Path(rare).open("a") as file:
        file.writelines(f"{test}\n" for test in failed)
    return 0


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
