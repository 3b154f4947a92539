"""The npm package `@ag-ui/client` as a judge: it verifies runs, and assembles their messages."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tests.helpers.npm_packages import installed
from turnwire.dialects.agui import events as e

__all__ = ["OLDER", "VERSION", "judged", "judged_streams", "package"]

VERSION = "1.0.0"
OLDER = "0.0.59"  # the version that CopilotKit 1.75 uses
JUDGE = Path(__file__).with_name("judge.mjs")


def package(version: str = VERSION) -> Path:
    """Returns the folder with the packages, installed once into a cache folder."""
    return installed(f"ag-ui-{version}", [f"@ag-ui/client@{version}", f"@ag-ui/core@{version}"])


def judged(cases: Sequence[Sequence[dict[str, Any]]], version: str = VERSION) -> list[Any]:
    """Returns what each client has after its runs, and the errors on the way."""
    return _judged({"cases": cases}, version)


def judged_streams(clients: Iterable[Sequence[Iterable[e.Event]]]) -> list[Any]:
    """Does the same for clients that connect once and connect again, then answer each interrupt.

    Their streams may have most of their events in common.
    """
    numbers: dict[bytes, int] = {}
    cases = [
        [
            {"events": [_number(each, numbers) for each in run], "connect": n == 1, "resume": True}
            for n, run in enumerate(runs)
        ]
        for runs in clients
    ]
    return _judged({"cases": cases, "pool": [msgspec.Raw(raw) for raw in numbers]}, VERSION)


def _number(event: e.Event, numbers: dict[bytes, int]) -> int:
    return numbers.setdefault(msgspec.json.encode(event), len(numbers))


def _judged(said: dict[str, Any], version: str) -> list[Any]:
    command = ["node", str(JUDGE), str(package(version))]
    done = subprocess.run(
        command, input=msgspec.json.encode(said), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    out: list[Any] = json.loads(done.stdout)
    return out
