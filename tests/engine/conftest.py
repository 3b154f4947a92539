"""Fixtures of the tests of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the log."""
    return tmp_path / "turnwire.db"
