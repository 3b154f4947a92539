"""A text that comes in pieces: finished lines are handed out, the last block stays to be drawn again."""

from __future__ import annotations

from turnwire.cli.live.markdown import Markdown, settled
from turnwire.cli.live.pen import Pen

__all__ = ["GrowingText"]

_ALL = 1_000_000  # lines: nothing is too tall


class GrowingText:
    """Drawn as far as it has come. What has been handed out is never drawn again."""

    def __init__(self, pen: Pen, style: str = "none") -> None:
        self._pen = pen
        self._style = style
        self._pieces: list[str] = []
        self._rest = ""  # what was not handed out
        self._joins = False  # the rest goes on in the block that was handed out last
        self.begun = False  # something was handed out

    def add(self, piece: str) -> None:
        """More of it."""
        self._pieces.append(piece)
        self._rest += piece

    def settle(self, width: int, room: int) -> list[str]:
        """The lines that cannot change any more; `room`: lines that the last block may have."""
        out: list[str] = []
        while True:
            tall = len(self._draw(self._rest, width)) > room
            done, rest, same = settled(self._rest, tall=tall)
            if not done:
                return out
            out += self._hand_out(done, width)
            self._rest, self._joins = rest, same

    def live(self, width: int) -> list[str]:
        """The lines of the last block, as it is now."""
        return self._apart(self._draw(self._rest, width))

    def finish(self, text: str, width: int) -> list[str]:
        """The rest of it. If the text is not what has grown, all of it once more."""
        grown = "".join(self._pieces)
        if text.startswith(grown):
            self._rest += text[len(grown) :]
        else:
            self._rest, self._joins = text, False
        # Block by block, as if it had grown: so it looks the same, however it came.
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
