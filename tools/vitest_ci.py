"""Runs Vitest as CI does: with TURNWIRE_RARE_FAILURES, a test that fails is tried again.

python -m tools.vitest_ci FOLDER [ARGUMENT...]
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.rare_failures import tried_again

__all__ = ["run"]

_BETWEEN = " > "  # a test's file, and its name


def run(folder: Path, arguments: list[str], rare: str | None) -> int:
    """Runs the tests of a folder, and returns the exit code."""
    if not rare:
        return _vitest(folder, *arguments)
    with tempfile.TemporaryDirectory() as place:
        report = Path(place, "report.json")
        code = _vitest(folder, *_reported(report), *arguments)
        failed = _failed(folder, report) if code and report.exists() else []

        def again(test: str) -> int:
            file, _, name = test.partition(_BETWEEN)
            # A pattern of JavaScript, which has fewer escapes than `re.escape` writes.
            pattern = re.sub(r"([\\^$.*+?()[\]{}|])", r"\\\1", name)
            code = _vitest(folder, *_reported(report), file, "-t", f"^{pattern}$")
            return code or int(json.loads(report.read_text())["numPassedTests"] == 0)

        return tried_again(code, failed, again, rare)


def _reported(report: Path) -> tuple[str, ...]:
    return ("--reporter=default", "--reporter=json", f"--outputFile.json={report}")


def _failed(folder: Path, report: Path) -> list[str]:
    """Returns the failed tests. Returns none if a file failed as a whole: that is no race."""
    said = json.loads(report.read_text())
    failed = []
    for file in said["testResults"]:
        tests = file["assertionResults"]
        inside = [each["fullName"] for each in tests if each["status"] == "failed"]
        if file["status"] == "failed" and not inside:
            return []
        path = Path(file["name"]).relative_to(folder.resolve())
        failed += [f"{path}{_BETWEEN}{name}" for name in inside]
    return sorted(failed)


def _vitest(folder: Path, *arguments: str) -> int:
    command = ["npx", "--no-install", "vitest", "run", *arguments]
    return subprocess.run(command, cwd=folder, check=False).returncode


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2:], os.environ.get("TURNWIRE_RARE_FAILURES")))
