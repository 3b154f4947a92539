"""Prints lists: lines that fit the screen, and relative times."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

import click
from rich.console import Console
from rich.text import Text

from turnwire.cli.terminal.words import NARROWEST

__all__ = ["Page", "ago"]

_WIDEST = 110


class Page:
    """Prints lines. Cuts them to the width of a terminal, but not in a pipe."""

    def __init__(self) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._is_screen = sys.stdout.isatty()
        self.width = max(NARROWEST, min(self._console.width, _WIDEST)) - 1

    def line(self, left: Text | str = "", right: str = "") -> None:
        """Prints text on the left, cut to fit, and a remark on the right."""
        text = Text(left) if isinstance(left, str) else left
        if self._is_screen:
            text.truncate(
                self.width - len(right) - (2 if right else 0), overflow="ellipsis", pad=bool(right)
            )
        self._print(Text.assemble(text, "  ", (right, "dim")) if right else text)

    def words(self, text: Text, indent: int = 0) -> None:
        """Prints a text, folded on as many lines as needed."""
        if not self._is_screen:
            self._print(Text.assemble(" " * indent, text))
            return
        from turnwire.cli.live.fold import folded

        for line in folded(text, self.width - indent):
            self._print(Text.assemble(" " * indent, line))

    def _print(self, text: Text) -> None:
        if self._console.color_system is None or self._console.no_color:
            click.echo(text.plain.rstrip())
        else:
            self._console.print(text, soft_wrap=True)


def ago(timestamp: str, now: datetime | None = None) -> str:
    """Returns a time in words: `just now`, `5 min ago`, `3 h ago`, `yesterday`, `2026-01-31`."""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if seconds < 60:
        return "just now"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < 86_400:
        return f"{seconds // 3600:.0f} h ago"
    if seconds < 2 * 86_400:
        return "yesterday"
    if seconds < 7 * 86_400:
        return f"{seconds // 86_400:.0f} days ago"
    return timestamp[:10]
