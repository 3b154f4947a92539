"""Runs the `Chat` of `useChat` under node."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

from tests.turn_streams.aisdk.helpers.judges import package

__all__ = ["run"]

FOLDER = Path(__file__).parent


async def run(script: str, version: int, *arguments: str) -> Any:
    """Runs a script of this folder with one version of the packages. Returns what it printed."""
    packages = await asyncio.to_thread(package, version)
    command = ["node", str(FOLDER / script), str(packages), *arguments]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)
