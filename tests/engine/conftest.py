"""What the tests of the engine share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the log will be."""
    return tmp_path / "turnwire.db"
