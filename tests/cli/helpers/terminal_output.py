"""Runs a command on a terminal of 80 columns."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

from tests.cli.conftest import TURNWIRE


def on_terminal(*args: str | Path, stdout: bool = True, stderr: bool = True, **env: str) -> bytes:
    """Returns the output of a command on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "CI")}
    process = subprocess.Popen(
        [*TURNWIRE, *map(str, args)],
        stdin=subprocess.DEVNULL,
        stdout=theirs if stdout else subprocess.DEVNULL,
        stderr=theirs if stderr else subprocess.DEVNULL,
        env={**environment, "TERM": "xterm-256color", **env},
    )
    os.close(theirs)
    received = b""
    try:
        while chunk := os.read(ours, 65536):
            received += chunk
    except OSError:  # how Linux says that the other side is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    return received
