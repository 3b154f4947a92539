"""Views of a turn: on a terminal, as plain text, or as JSON lines of frames."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

from turnwire.cli.live.story import Painter, Story

if TYPE_CHECKING:
    from turnwire.cli.live.terminal import TerminalPainter
    from turnwire.dialects.v2.frames import Frame, UnknownFrame

__all__ = ["JsonView", "StoryView", "View", "can_type", "is_terminal", "open_view"]


class View:
    """The methods of every view. This base class shows nothing."""

    painter: TerminalPainter | None = None  # set if a person can be asked

    def frame(self, frame: Frame) -> None:
        """Shows a frame."""

    def note(self, lines: list[Text]) -> None:
        """Shows lines that do not come from a frame."""

    def status(self, words: str | None, hint: str = "Ctrl-C stops") -> None:
        """Shows the current work and the keys. None removes them."""

    @property
    def tasks(self) -> list[str]:
        """Returns the descriptions of the background tasks."""
        return []

    def stop(self) -> None:
        """Ends the view."""


class JsonView(View):
    """Prints each frame as a line of JSON."""

    def __init__(self) -> None:
        self._out = sys.stdout.buffer

    def frame(self, frame: Frame | UnknownFrame) -> None:
        from turnwire.dialects.v2.codec import encode
        from turnwire.dialects.v2.frames import UnknownFrame

        if isinstance(frame, UnknownFrame):
            sequence = frame.data.get("sequence")
        else:
            sequence = frame.sequence
        self._out.write(encode(frame).at(sequence or 0) + b"\n")
        self._out.flush()


class StoryView(View):
    """Shows the story of a turn, on a terminal or as plain text."""

    def __init__(self, *, past: bool = False, asks: bool = False) -> None:
        self._terminal: TerminalPainter | None = None
        if is_terminal():
            from turnwire.cli.live.keys import Keyboard
            from turnwire.cli.live.pen import Pen
            from turnwire.cli.live.terminal import TerminalPainter

            self.keyboard = Keyboard(sys.stdin.fileno()) if asks else None
            self._terminal = TerminalPainter(Pen(sys.stdout), self.keyboard)
            self._painter: Painter = self._terminal
        else:
            from turnwire.cli.live.plain import PlainPainter

            self.keyboard = None
            self._painter = PlainPainter(sys.stdout)
        self.painter = self._terminal if self.keyboard else None
        self._story = Story(self._painter, past=past)

    def frame(self, frame: Frame) -> None:
        self._story.feed(frame)

    def note(self, lines: list[Text]) -> None:
        self._painter.note(lines)

    def status(self, words: str | None, hint: str = "Ctrl-C stops") -> None:
        if self._terminal is not None:
            self._terminal.status(words, hint)

    @property
    def tasks(self) -> list[str]:
        return self._story.tasks

    def resized(self) -> None:
        """Redraws after a change of the terminal's size."""
        if self._terminal is not None:
            self._terminal.resized()

    def stop(self) -> None:
        self._story.end()
        if self._terminal is not None:
            self._terminal.stop()


@contextmanager
def open_view(*, as_json: bool) -> Iterator[View]:
    """Opens the view for the output. Restores the terminal at the end."""
    if as_json:
        yield JsonView()
        return
    view = StoryView(asks=can_type())
    with ExitStack() as stack:
        stack.callback(view.stop)
        if view.keyboard is not None:
            stack.enter_context(view.keyboard)
        yield view


def is_terminal() -> bool:
    """Returns whether standard output is a terminal that can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def can_type() -> bool:
    """Returns whether a person can be asked: input and output are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and is_terminal()
