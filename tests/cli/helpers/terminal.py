"""A person at a terminal: starts a command, reads the screen, types."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cli.conftest import TURNWIRE
from tests.cli.helpers.screen import Screen
from tests.helpers.recorded_streams import FIXTURES

__all__ = ["Terminal", "environment"]

_PATIENCE = 120.0  # seconds; only a failure takes that long
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def environment(**more: str) -> dict[str, str]:
    """An environment in which nothing but the test decides how things look."""
    hidden = ("NO_COLOR", "COLUMNS", "LINES", "CI", "TURNWIRE_DATA_DIR", "FORCE_COLOR")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **more}


class Terminal:
    """Use it as `with`: at the end nothing of the command is left."""

    def __init__(
        self,
        *args: str | Path,
        home: Path,
        program: Sequence[str] = TURNWIRE,
        columns: int = 80,
        rows: int = 24,
        **env: str,
    ) -> None:
        self.screen = Screen(columns, rows)
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [*program, *map(str, args)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=FIXTURES.parent,  # so that the agents of the tests are found
            env=environment(TURNWIRE_DATA_DIR=str(home), **env),
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(theirs)
        self._decode = codecs.getincrementaldecoder("utf-8")().decode
        self._drawn: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def wait_for(self, text: str) -> None:
        """Read until this is on the screen, or has scrolled away."""
        self._read(lambda: text in self.screen.text, f"{text!r} to come")

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Read until this is true of the screen: a screen is drawn in several pieces."""
        self._read(true, what)

    def end(self) -> int:
        """Read to the end; returns the exit code."""
        while self._receive(time.monotonic() + _PATIENCE, "the end"):
            pass
        return self.process.wait(_PATIENCE)

    @property
    def drawn(self) -> str:
        """Everything that was ever drawn, without colours and moves of the cursor."""
        return _ESCAPES.sub("", "".join(self._drawn))

    def drew(self, text: str) -> bool:
        """Returns whether this text was ever drawn, even if it was overwritten at once."""
        return text in self.drawn

    def drew_colours(self) -> bool:
        """Returns whether any colour was drawn."""
        return re.search(r"\x1b\[(?:\d+;)*[349][0-7][;m]", "".join(self._drawn)) is not None

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def control_c(self) -> None:
        self.type("\x03")

    def kill(self) -> None:
        """Kills the command with SIGKILL."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self, done: object, what: str) -> None:
        assert callable(done)
        deadline = time.monotonic() + _PATIENCE
        while not done():
            assert self._receive(deadline, what), f"ended, without {what}:\n{self.screen.text}"

    def _receive(self, deadline: float, what: str) -> bool:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([self._ours], [], [], max(left, 0))
        assert ready, f"waited too long for {what}:\n{self.screen.text}"
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        drawn = self._decode(data)
        self._drawn.append(drawn)
        self.screen.feed(drawn)
        return bool(data)


def _take_terminal() -> None:
    """Make the terminal the command's own, so that Ctrl-C reaches it as a signal."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
