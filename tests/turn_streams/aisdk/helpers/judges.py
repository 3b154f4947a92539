"""The npm package `ai` as a judge: it validates the chunks of a stream, and assembles its message."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from turnwire.dialects.aisdk import chunks as u

__all__ = ["VERSIONS", "judged"]

VERSIONS = {5: "5.0.277", 6: "6.0.326", 7: "7.0.170"}
JUDGE = Path(__file__).with_name("judge.mjs")


@cache
def package(version: int) -> Path:
    """Returns the folder with one version of the package, installed once into a cache folder."""
    exact = VERSIONS[version]
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache_home / "turnwire-tests" / f"ai-{exact}"
    found = folder / "node_modules" / "ai" / "package.json"
    if not found.exists():
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed")
        # Moved when it is complete: other test processes may install it at the same time.
        folder.parent.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(prefix=f"ai-{exact}-", dir=folder.parent))
        (begun / "package.json").write_text("{}")
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", f"ai@{exact}"]
        done = subprocess.run(command, cwd=begun, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            shutil.rmtree(begun)
            pytest.skip(f"the package ai could not be installed: {done.stderr[-200:]}")
        try:
            begun.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(begun)
    return folder


def judged(
    version: int, cases: Sequence[Sequence[Sequence[u.Chunk | dict[str, Any]]]]
) -> list[Any]:
    """Returns the message that each case assembles to, and the errors on the way."""
    said = msgspec.json.encode({"cases": cases})
    command = ["node", str(JUDGE), str(package(version))]
    done = subprocess.run(command, input=said, capture_output=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    out: list[Any] = json.loads(done.stdout)
    return out
