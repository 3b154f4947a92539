"""A program of a test that is no child of the test: tests of agents look at all their children."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["Adopted"]

# The shell ends at once, so that the program gets another parent. A program in the background would
# read from nowhere: it gets the pipe back.
_LEFT_BEHIND = 'exec 3<&0; ( exec 0<&3 3<&-; exec "$@" ) & exit 0'


class Adopted:
    """Runs a program that reads from a pipe, and ends when the pipe is closed."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path | None = None, user: str | None = None
    ) -> None:
        self._alive, inherited = os.pipe()  # closed when the last process of the program has ended
        starting = subprocess.Popen(
            ["sh", "-c", _LEFT_BEHIND, "sh", *command],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a shell says that its program was killed
            pass_fds=[inherited],
            user=user,
            cwd=cwd,
            start_new_session=True,  # Ctrl-C is for pytest
        )
        os.close(inherited)
        assert starting.stdin is not None
        self.stdin = starting.stdin
        starting.wait()

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Waits for the end of the program. Returns whether it has ended."""
        if self._alive < 0:
            return True
        if not select.select([self._alive], [], [], seconds)[0]:
            return False
        os.close(self._alive)
        self._alive = -1
        return True

    def end(self, seconds: float) -> None:
        """Closes the pipe, and waits until the program has ended."""
        self.stdin.close()
        assert self.has_ended(seconds)
