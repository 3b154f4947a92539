"""The npm package `@ag-ui/client` as a judge: it verifies runs, and assembles their messages."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.helpers.npm_packages import installed

__all__ = ["OLDER", "VERSION", "judged", "package"]

VERSION = "1.0.0"
OLDER = "0.0.59"  # the version that CopilotKit 1.75 uses
JUDGE = Path(__file__).with_name("judge.mjs")


def package(version: str = VERSION) -> Path:
    """Returns the folder with the packages, installed once into a cache folder."""
    return installed(f"ag-ui-{version}", [f"@ag-ui/client@{version}", f"@ag-ui/core@{version}"])


def judged(cases: Sequence[Sequence[dict[str, Any]]], version: str = VERSION) -> list[Any]:
    """Returns what each client has after its runs, and the errors on the way."""
    said = msgspec.json.encode({"cases": cases})
    command = ["node", str(JUDGE), str(package(version))]
    done = subprocess.run(command, input=said, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    out: list[Any] = json.loads(done.stdout)
    return out
