"""Draws streaming Markdown: hands out finished lines, and redraws the last block."""

from __future__ import annotations

from rich.cells import chop_cells

from turnwire.cli.live.markdown import LONG, Markdown, blocks_of, cut
from turnwire.cli.live.pen import Pen

__all__ = ["GrowingText"]

_ALL = 1_000_000  # lines: no limit on the height
_WINDOW = 16_000  # characters that are parsed together: more would take too long
_FLOOD = 200_000  # characters that wait: too fast to be read, so drawn without Markdown


class GrowingText:
    """A text that streams in. A line that was handed out is never drawn again."""

    def __init__(self, pen: Pen, style: str = "none") -> None:
        self._pen = pen
        self._style = style
        self._pieces: list[str] = []
        self._rest = ""  # the part that was not handed out
        self._joins = False  # the rest continues the block that was handed out last
        self.begun = False  # a line was handed out

    @property
    def text(self) -> str:
        """Returns the whole text received so far."""
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Appends a piece."""
        self._pieces.append(piece)
        self._rest += piece

    def settle(self, width: int, room: int) -> list[str]:
        """Hands out the lines that cannot change. `room` is the maximum height of the last block."""
        out = self._flood(width) if len(self._rest) > _FLOOD else []
        window = _WINDOW
        while True:
            head, tail = _split(self._rest, window)
            *done, last = blocks_of(head)
            for block in done:
                out += self._hand_out(block, width)
                self._joins = False
            self._rest = last + tail
            begin, end = self._cut(last, width, room, is_all=not tail)
            if begin:
                out += self._hand_out(begin, width)
                self._rest, self._joins = end + tail, True
            elif not tail:
                return out
            elif not done:
                window *= 2  # a table, or another block that cannot be cut

    def _cut(self, block: str, width: int, room: int, *, is_all: bool) -> tuple[str, str]:
        """Splits a last block that is too long to redraw. Returns the part to hand out, and the rest."""
        if is_all and len(block) <= LONG and len(self._draw(block, width)) <= room:
            return "", block
        return cut(block)

    def _flood(self, width: int) -> list[str]:
        """Hands out most of the waiting text without formatting."""
        text, self._rest = _split(self._rest, len(self._rest) - _WINDOW // 2)
        lines = [part for line in text.split("\n") for part in chop_cells(line, width) or [""]]
        self._joins, self.begun = True, True
        return lines

    def live(self, width: int) -> list[str]:
        """Returns the lines of the last block in its current state."""
        return self._apart(self._draw(self._rest, width))

    def finish(self, text: str, width: int) -> list[str]:
        """Hands out the rest. If the final text differs from the streamed one, hands out all of it."""
        grown = self.text
        if text.startswith(grown):
            self._rest += text[len(grown) :]
        else:
            self._rest, self._joins = text, False
        # Block by block, as in streaming, so that the result looks the same.
        return [*self.settle(width, _ALL), *self._hand_out(self._rest, width)]

    def _hand_out(self, text: str, width: int) -> list[str]:
        lines = self._apart(self._draw(text, width))
        self.begun = self.begun or bool(lines)
        return lines

    def _apart(self, lines: list[str]) -> list[str]:
        return ["", *lines] if lines and self.begun and not self._joins else lines

    def _draw(self, text: str, width: int) -> list[str]:
        lines = self._pen.lines(Markdown(text, self._style), width) if text.strip() else []
        while lines and not lines[-1]:
            lines.pop()
        while lines and not lines[0]:
            lines.pop(0)
        return lines


def _split(text: str, size: int) -> tuple[str, str]:
    """Splits a text at about `size` characters, after a line or a word."""
    if len(text) <= size:
        return text, ""
    at = max(text.rfind("\n", 0, size), text.rfind(" ", size // 2, size)) + 1 or size
    return text[:at], text[at:]
