"""The redrawn lines at the bottom of a terminal, below the finished lines."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.text import Text

__all__ = ["Region"]

_HOLD, _SHOW = "\x1b[?2026h", "\x1b[?2026l"  # synchronized output, if the terminal supports it


class Region:
    """Redraws only changed lines, so that the screen does not flicker."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._lines: list[str] = []
        self._row = 0  # the row of the cursor, from the first line of the region

    def draw(
        self, above: list[str], lines: list[str], cursor: tuple[int, int] | None = None
    ) -> None:
        """Adds finished lines above the region, and draws the region with `lines`.

        `cursor` is a row and a column in the region. Without it the cursor is below the region.
        """
        same = 0 if above else _common(self._lines, lines)
        stays = cursor is None and self._row == len(lines)
        if stays and not above and same == len(lines) == len(self._lines):
            return
        out = [_HOLD, self._to(same)]
        out += [f"{line}\x1b[K\r\n" for line in [*above, *lines[same:]]]
        out.append("\x1b[J")
        self._lines, self._row = lines, len(lines)
        if cursor is not None:
            row, column = cursor
            out.append(self._to(row) + (f"\x1b[{column}C" if column else ""))
        out.append(_SHOW)
        self._write("".join(out))

    def resized(self, columns: int) -> None:
        """Moves to the first line of the region, after the terminal has folded its lines again."""
        rows = [max(1, -(-cell_len(_plain(line)) // columns)) for line in self._lines]
        back = sum(rows[: self._row])
        self._write((f"\x1b[{back}A" if back else "") + "\r\x1b[J")
        self._lines, self._row = [], 0

    def _to(self, row: int) -> str:
        """Returns the escape sequence that moves the cursor to the start of a row."""
        by = row - self._row
        self._row = row
        return (f"\x1b[{by}B" if by > 0 else f"\x1b[{-by}A" if by else "") + "\r"


def _common(old: list[str], new: list[str]) -> int:
    """Returns the number of unchanged lines at the top."""
    for at, (before, now) in enumerate(zip(old, new, strict=False)):
        if before != now:
            return at
    return min(len(old), len(new))


def _plain(line: str) -> str:
    return Text.from_ansi(line).plain if "\x1b" in line else line
