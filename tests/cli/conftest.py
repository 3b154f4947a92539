"""Fixtures of the tests of the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from turnwire.cli.main import main

Run = Callable[..., Result]
Tell = Callable[..., Result]
Start = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def run() -> Run:
    """Run a command in this process."""

    def run(*args: str | Path, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(main, [str(arg) for arg in args], input=stdin)

    return run


@pytest.fixture
def start() -> Start:
    """Run a command in a process of its own, where the process matters."""

    def start(
        *args: str | Path, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*TURNWIRE, *map(str, args)],
            env={**os.environ, **(env or {})},
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 60, **options},
            check=False,
        )

    return start


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data directory of this test, which does not exist yet."""
    return tmp_path / "home"


@pytest.fixture
def tell(home: Path) -> Tell:
    """Runs a command with that data directory in this process, without a terminal."""

    def tell(*args: str | Path, stdin: bytes = b"", **environ: str) -> Result:
        env = {"TURNWIRE_DATA_DIR": str(home), **environ}
        return CliRunner().invoke(main, [str(arg) for arg in args], input=stdin, env=env)

    return tell


def lines(result: Result) -> list[Any]:
    """Returns the JSON lines that a command printed."""
    return [json.loads(line) for line in result.stdout_bytes.splitlines()]


# The console script's own line, for the interpreter that runs the tests.
TURNWIRE = [sys.executable, "-c", "from turnwire.cli.main import main; main(prog_name='turnwire')"]


@pytest.fixture
def recording(tmp_path: Path) -> Callable[[bytes], Path]:
    """Write bytes into a file of the test's own."""

    def recording(content: bytes) -> Path:
        path = tmp_path / "recording.jsonl"
        path.write_bytes(content)
        return path

    return recording
