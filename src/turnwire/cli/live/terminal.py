"""Draws the story on a terminal: finished lines above, changing lines below."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing

from rich.text import Text

from turnwire.cli.live.cards import plan_of
from turnwire.cli.live.editor import Editor
from turnwire.cli.live.keys import Keyboard
from turnwire.cli.live.lines import LinePainter
from turnwire.cli.live.pen import Pen
from turnwire.cli.live.region import Region
from turnwire.cli.terminal.words import duration

__all__ = ["TerminalPainter"]

_FRAME = 1 / 15  # seconds between two drawings; more if drawing is slow
_TURNING = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


class TerminalPainter(LinePainter):
    """The painter for `run`, `answer`, `show` and `tail`. The caller calls `stop` at the end."""

    is_guest = True

    def __init__(self, pen: Pen, keyboard: Keyboard | None = None) -> None:
        super().__init__(pen)
        self._keyboard = keyboard
        self._region = Region(self._write)
        self._status: str | None = None
        self._hint = ""
        self._since = 0.0
        self._asking: tuple[str, Editor] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._cost = 0.0  # seconds that the last drawing took
        self._columns = pen.size[0]
        self._write("\x1b[?25l")

    def _write(self, text: str) -> None:
        self._pen.file.write(text)
        self._pen.file.flush()

    def status(self, words: str | None, hint: str = "Ctrl-C stops") -> None:
        """Shows the current work and the keys in the last line. None removes the line."""
        if words is not None and self._status is None:
            self._since = time.monotonic()
        if words is None:
            self._put_plan()
        self._status, self._hint = words, hint
        self._soon()

    # --- asking -------------------------------------------------------------------------------

    def tell(self, lines: list[Text]) -> None:
        """Adds finished lines."""
        self.note(lines)

    async def read_line(self, hint: str, text: str = "") -> str | None:
        """Reads a line. Returns None if the person declines to answer."""
        assert self._keyboard is not None
        editor = Editor(text)
        self._asking = hint, editor
        self._write("\x1b[?25h\x1b[?2004h")
        self._draw()
        try:
            async with aclosing(self._keyboard.keys()) as keys:
                async for key in keys:
                    done = editor.press(key)
                    if done is not None:
                        return editor.text if done == "enter" else None
                    self._soon()
        finally:
            self._asking = None
            self._write("\x1b[?2004l\x1b[?25l")
            self._draw()
        return None

    def forget_keys(self) -> None:
        """Discards the keys that were typed before the request was shown."""
        if self._keyboard is not None:
            self._keyboard.forget()

    # --- drawing ------------------------------------------------------------------------------

    def stop(self) -> None:
        """Draws the remaining lines, and restores the terminal."""
        self._texts.clear()
        self._calls.clear()
        self._status = self._asking = None
        self._put_plan()
        self._draw()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._write("\x1b[?25h")

    def resized(self) -> None:
        """Redraws after a change of the terminal's size."""
        self._columns = self._pen.size[0]
        self._region.resized(self._columns)
        self._draw()

    def _soon(self) -> None:
        if self._timer is None:
            wait = max(_FRAME, 4 * self._cost)  # leaves most of the time to other tasks
            self._timer = asyncio.get_running_loop().call_later(wait, self._draw)

    def _draw(self) -> None:
        began = time.perf_counter()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        rows = self._pen.size[1] - 1
        below, cursor = self._below()
        room = max(rows - len(below) - 2, 2)
        growing = self._growing(room)[-room:]
        above, self._above = self._above, []
        if below and (growing or self._last is not None):
            growing.append("")
        lines = [*growing, *below]
        first = max(len(lines) - rows, 0)  # the first line that fits
        if cursor is not None:
            row = cursor[0] + len(growing)
            first = min(first, row)
            cursor = (row - first, cursor[1])
        self._region.draw(above, lines[first : first + rows], cursor)
        self._cost = time.perf_counter() - began
        if self._status is not None and self._asking is None:
            self._soon()  # animates the spinner

    def _below(self) -> tuple[list[str], tuple[int, int] | None]:
        """Returns the plan with the prompt or the status line, and the position of the cursor."""
        lines = (
            [drawn for line in plan_of(self._steps) for drawn in self._fold(line, self._pen.width)]
            if self._steps
            else []
        )
        if self._asking is not None:
            hint, editor = self._asking
            rows, cursor = editor.rows(self._pen.width)
            lines += self._pen.lines(Text(hint, "dim"))
            return [*lines, *rows], (len(lines) + cursor[0], cursor[1])
        if self._status is not None:
            lines += [""] if lines else []
            passed = time.monotonic() - self._since
            turning = _TURNING[int(passed * 10) % len(_TURNING)]
            took = f" · {duration(int(passed))}" if passed >= 1 else ""
            words = f"{self._status}{took} · {self._hint}"
            lines += self._pen.lines(Text.assemble((turning, "yellow"), " ", (words, "dim")))[:1]
        return lines, None
