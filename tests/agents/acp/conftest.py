"""The real opencode, for the tests that need it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agents.acp.helpers.real_opencode import VERSION


@pytest.fixture(scope="module")
def program() -> Path:
    """The program of opencode, installed once into a cache folder."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "turnwire-tests" / f"opencode-{VERSION}"
    found = folder / "node_modules" / ".bin" / "opencode"
    if not found.exists():
        if shutil.which("npm") is None:
            pytest.skip("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", f"opencode-ai@{VERSION}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"opencode could not be installed: {done.stderr[-200:]}")
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of opencode for all tests: its first start takes long."""
    return tmp_path_factory.mktemp("home")
