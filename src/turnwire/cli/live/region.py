"""The lower part of a terminal, which is drawn again and again; above it everything stays."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.text import Text

__all__ = ["Region"]

_HOLD, _SHOW = "\x1b[?2026h", "\x1b[?2026l"  # drawn at once, where the terminal can


class Region:
    """Writes only what has changed since the last time, so that nothing flickers."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._lines: list[str] = []
        self._row = 0  # where the cursor is, from the first line of the region

    def draw(
        self, above: list[str], lines: list[str], cursor: tuple[int, int] | None = None
    ) -> None:
        """Put lines above the region for good, and show the region with these lines.

        `cursor` is a row and a column in the region; without it the cursor stands below its end.
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
        """The terminal has folded our lines anew: go back to where the first of them may be."""
        rows = [max(1, -(-cell_len(_plain(line)) // columns)) for line in self._lines]
        back = sum(rows[: self._row])
        self._write((f"\x1b[{back}A" if back else "") + "\r\x1b[J")
        self._lines, self._row = [], 0

    def _to(self, row: int) -> str:
        """To the beginning of a row of the region."""
        by = row - self._row
        self._row = row
        return (f"\x1b[{by}B" if by > 0 else f"\x1b[{-by}A" if by else "") + "\r"


def _common(old: list[str], new: list[str]) -> int:
    """How many lines at the top are as they were."""
    for at, (before, now) in enumerate(zip(old, new, strict=False)):
        if before != now:
            return at
    return min(len(old), len(new))


def _plain(line: str) -> str:
    return Text.from_ansi(line).plain if "\x1b" in line else line
