"""The tests that `make test` runs, and its message about those that it cannot run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKE = shutil.which("make")

NO_NODE = "Not run: the tests of the TypeScript client, which need Node.js 20 or newer.\n"


def make(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Runs make with these variables as its whole environment; an existing set-up stays as it is."""
    assert MAKE is not None
    given = [MAKE, "--no-print-directory", "--old-file=.venv/test.stamp", *args]
    return subprocess.run(given, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("node", [None, "#!/bin/sh\nexit 1\n"], ids=["none", "too old"])
def test_without_node_one_line_names_the_tests_that_were_not_run(
    tmp_path: Path, node: str | None
) -> None:
    if node is not None:
        (tmp_path / "node").write_text(node)
        (tmp_path / "node").chmod(0o755)
    here = make("test-typescript", PATH=str(tmp_path))
    assert (here.returncode, here.stdout, here.stderr) == (0, "", NO_NODE)
    in_ci = make("test-typescript", PATH=str(tmp_path), CI="true")
    assert in_ci.returncode != 0, "there it has to be run"
    assert NO_NODE in in_ci.stderr


def test_the_tests_of_the_typescript_client_are_run_with_the_others(tmp_path: Path) -> None:
    told = make("--dry-run", "test", PATH=str(tmp_path)).stdout
    assert "pytest_ci -n auto" in told
    assert "vitest_ci clients/typescript" in told
    assert "vitest_ci clients/react" in told


def test_bytecode_is_written_even_where_the_machine_says_otherwise(tmp_path: Path) -> None:
    rule = "tell:\n\t@echo [$$PYTHONDONTWRITEBYTECODE]\n"
    (tmp_path / "tell.mk").write_text(rule)
    files = ["-f", "Makefile", "-f", str(tmp_path / "tell.mk")]
    told = make(*files, "tell", PATH=os.environ["PATH"], PYTHONDONTWRITEBYTECODE="1")
    assert told.stdout == "[]\n"
