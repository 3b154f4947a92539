"""Programs that an agent starts in place of Claude Code."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["player", "program", "strange"]

_HELPERS = Path(__file__).parent


def program(place: Path, code: str) -> str:
    """Makes a program of Python code that is started like Claude Code. Returns its path."""
    path = place / "claude"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} -IS {code}\n")
    path.chmod(0o755)
    return str(path)


def strange(place: Path) -> str:
    """Makes a program that sends unknown messages."""
    return program(place, str(_HELPERS / "unknown_messages.py"))


def player(place: Path) -> str:
    """Makes a program that plays a recording."""
    return program(place, str(_HELPERS / "recording_player.py"))
