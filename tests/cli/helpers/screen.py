"""A terminal emulator: the visible lines, and the lines that have scrolled away."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["Screen"]

_TOKEN = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n\x08])|([^\x1b\r\n\x08]+)", re.DOTALL)


class Screen:
    """Interprets the sequences that Turnwire sends, and fails at all others."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.columns = columns
        self.rows = rows
        self.gone: list[str] = []  # scrolled away
        self._cells: list[list[str]] = [[] for _ in range(rows)]
        self._row = self._column = 0
        self._rest = ""
        self.cursor_shown = True

    @property
    def lines(self) -> list[str]:
        """Returns all lines, from the first to the last that is not empty."""
        lines = [*self.gone, *("".join(row).rstrip() for row in self._cells)]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def cursor(self) -> tuple[int, int]:
        """Returns the line and the column of the cursor; lines that have scrolled away count."""
        return len(self.gone) + self._row, self._column

    def feed(self, text: str) -> None:
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                self._rest = text[at:]
                assert len(self._rest) < 32, f"not understood: {self._rest!r}"
                return
            arguments, command, control, words = found.groups()
            if command is not None:
                self._command(arguments, command)
            elif control is not None:
                self._control(control)
            else:
                for character in words:
                    self._put(character)
            at = found.end()

    def _put(self, character: str) -> None:
        if unicodedata.combining(character):
            return
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if self._column + width > self.columns:
            self._column = 0
            self._down()
        row = self._cells[self._row]
        row += [" "] * (self._column - len(row))
        row[self._column : self._column + width] = [character] + [""] * (width - 1)
        self._column += width

    def _control(self, control: str) -> None:
        if control == "\r":
            self._column = 0
        elif control == "\n":
            self._down()
        else:
            self._column = max(0, self._column - 1)

    def _down(self) -> None:
        if self._row + 1 < self.rows:
            self._row += 1
        else:
            self.gone.append("".join(self._cells.pop(0)).rstrip())
            self._cells.append([])

    def _command(self, arguments: str, command: str) -> None:
        number = int(arguments) if arguments.isdigit() else 1
        match command:
            case "A":
                assert number <= self._row, "up beyond the top: something above would be drawn over"
                self._row -= number
            case "B":
                self._row = min(self._row + number, self.rows - 1)
            case "C":
                self._column += number
            case "D":
                self._column = max(0, self._column - number)
            case "K":
                del self._cells[self._row][self._column :]
            case "J":
                del self._cells[self._row][self._column :]
                for row in self._cells[self._row + 1 :]:
                    row.clear()
            case "m":
                pass
            case "h" | "l" if arguments in ("?1", "?7", "?12", "?25", "?2004", "?2026"):
                if arguments == "?25":
                    self.cursor_shown = command == "h"
            case _:
                raise AssertionError(f"not understood: {arguments}{command}")
