"""Packages of npm that judge streams, installed once into a cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

__all__ = ["installed"]


def installed(name: str, packages: Sequence[str]) -> Path:
    """Returns a folder with these packages. Skips the test if they cannot be installed."""
    return _installed(name, tuple(packages))


@cache
def _installed(name: str, packages: tuple[str, ...]) -> Path:
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    versions = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8]
    folder = cache_home / "turnwire-tests" / f"{name}-{versions}"
    if folder.exists():
        return folder
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    # Moved when it is complete: other test processes may install it at the same time.
    folder.parent.mkdir(parents=True, exist_ok=True)
    begun = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder.parent))
    (begun / "package.json").write_text("{}")
    command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *packages]
    done = subprocess.run(command, cwd=begun, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        shutil.rmtree(begun)
        pytest.skip(f"{name} could not be installed: {done.stderr[-200:]}")
    try:
        begun.rename(folder)
    except OSError:  # another process was faster
        shutil.rmtree(begun)
    return folder
