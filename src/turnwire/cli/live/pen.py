"""Renders rich objects as lines with escape sequences, for one terminal."""

from __future__ import annotations

import shutil
from typing import TextIO

from rich.console import COLOR_SYSTEMS, Console, RenderableType
from rich.segment import Segment
from rich.style import Style

from turnwire.cli.live.markdown import THEME

__all__ = ["Pen"]

_WIDEST = 100  # columns; longer lines are hard to read
_NARROWEST = 20


class Pen:
    """A renderer for one terminal, with its size and colors."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.console = Console(file=file, highlight=False, markup=False, emoji=False, theme=THEME)
        name = self.console.color_system
        self._colors = COLOR_SYSTEMS[name] if name else None

    @property
    def size(self) -> tuple[int, int]:
        """Returns the current columns and rows."""
        columns, rows = shutil.get_terminal_size()
        return max(columns, _NARROWEST), max(rows, 4)

    @property
    def width(self) -> int:
        """Returns the columns for text. The last column stays free: some terminals wrap at it."""
        return min(self.size[0] - 1, _WIDEST)

    def lines(self, thing: RenderableType, width: int | None = None) -> list[str]:
        """Renders an object as lines without trailing blanks."""
        options = self.console.options.update(width=width or self.width, height=None)
        drawn = self.console.render_lines(thing, options, pad=False)
        return [self._line(segments) for segments in drawn]

    def _line(self, segments: list[Segment]) -> str:
        if self.console.no_color:
            segments = list(Segment.remove_color(segments))
        while segments and _is_blank(segments[-1]):
            segments = segments[:-1]
        if segments and not _shows_blanks(segments[-1].style):
            last = segments[-1]
            segments = [*segments[:-1], Segment(last.text.rstrip(), last.style)]
        return "".join(self._words(segment) for segment in segments)

    def _words(self, segment: Segment) -> str:
        style = segment.style
        return style.render(segment.text, color_system=self._colors) if style else segment.text


def _is_blank(segment: Segment) -> bool:
    return not segment.text.strip() and not _shows_blanks(segment.style)


def _shows_blanks(style: Style | None) -> bool:
    return style is not None and bool(style.bgcolor or style.underline or style.reverse)
