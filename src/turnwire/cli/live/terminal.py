"""The story on a terminal: what is finished stays above, what grows is drawn again below it."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import Any

from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, head_of, input_of, output_of, plan_of, result_of
from turnwire.cli.live.editor import Editor
from turnwire.cli.live.fold import folded
from turnwire.cli.live.growing import GrowingText
from turnwire.cli.live.keys import Keyboard
from turnwire.cli.live.pen import Pen
from turnwire.cli.live.region import Region
from turnwire.cli.live.story import AGENT, Kind
from turnwire.cli.words import duration

__all__ = ["TerminalPainter"]

_FRAME = 1 / 15  # seconds between two drawings; a slow one waits longer
_TURNING = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_STYLES: dict[Kind, str] = {"text": "none", "thinking": "dim italic"}


class TerminalPainter:
    """Everything that is drawn goes through here. Use `stop` at the end."""

    def __init__(self, pen: Pen, keyboard: Keyboard | None = None) -> None:
        self._pen = pen
        self._keyboard = keyboard
        self._region = Region(self._write)
        self._above: list[str] = []  # finished lines that were not drawn yet
        self._last: object = None  # what they belong to
        self._voice: str | None = None  # and who said them
        self._texts: dict[str, tuple[Voice, GrowingText]] = {}
        self._calls: dict[str, Call] = {}
        self._steps: list[Any] = []
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

    # --- words --------------------------------------------------------------------------------

    def said(self, text: str) -> None:
        """A person's words."""
        self.note([Text(f"> {line}", "bold") for line in text.split("\n")])

    def grow(self, block_id: str, voice: Voice, kind: Kind, piece: str) -> None:
        """More of a block."""
        self._text(block_id, voice, kind).add(piece)
        self._soon()

    def finish(self, block_id: str, voice: Voice, kind: Kind, text: str) -> None:
        """A block is whole."""
        grown = self._text(block_id, voice, kind)
        del self._texts[block_id]
        self._put(grown.finish(text, self._width(voice)), voice, block_id)

    def take_back(self, block_id: str) -> None:
        """A block goes. What stands above already cannot go, so it is said."""
        voice, grown = self._texts.pop(block_id, (AGENT, None))
        if grown is not None and grown.begun:
            self.note([Text("The agent took this back.", "dim italic")], voice)
        self._soon()

    def _text(self, block_id: str, voice: Voice, kind: Kind) -> GrowingText:
        if block_id not in self._texts:
            self._texts[block_id] = voice, GrowingText(self._pen, _STYLES[kind])
        return self._texts[block_id][1]

    # --- calls and notes ------------------------------------------------------------------------

    def run(self, call: Call) -> None:
        """A call runs."""
        self._calls[call.id] = call
        self._soon()

    def close(self, call: Call) -> None:
        """It is over, or its sub-agent begins to speak and its head is due."""
        self._calls.pop(call.id, None)
        lines = [head_of(call)]
        if not call.is_shown:
            lines += [Text.assemble("  ", line) for line in input_of(call)]
        if call.is_over:
            lines += [Text.assemble("  ", line) for line in result_of(call)]
        self.note(lines, call.voice)
        if not call.is_over:
            self._voice = call.id  # whose words come now stands right above them

    def forget(self, call: Call) -> None:
        """It is not shown as running."""
        if self._calls.pop(call.id, None) is not None:
            self._soon()

    def note(self, lines: list[Text], voice: Voice = AGENT) -> None:
        """Lines that stay."""
        width = self._width(voice)
        self._put([drawn for line in lines for drawn in self._fold(line, width)], voice, object())

    def plan(self, items: list[Any]) -> None:
        """It stays below what is said until it is done, or the turn is over."""
        self._steps = items
        if all(isinstance(item, dict) and item.get("status") == "completed" for item in items):
            self._put_plan()
        self._soon()

    def _put_plan(self) -> None:
        if self._steps:
            steps, self._steps = self._steps, []
            self.note(plan_of(steps))

    def status(self, words: str | None, hint: str = "Ctrl-C stops") -> None:
        """What is going on, in the last line, and what can be done; nothing: it is over."""
        if words is not None and self._status is None:
            self._since = time.monotonic()
        if words is None:
            self._put_plan()
        self._status, self._hint = words, hint
        self._soon()

    # --- asking -------------------------------------------------------------------------------

    async def read_line(self, hint: str, text: str = "") -> str | None:
        """A line that somebody types; none if they would rather not."""
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
        """What was typed so far was not meant for what comes now."""
        if self._keyboard is not None:
            self._keyboard.forget()

    # --- drawing ------------------------------------------------------------------------------

    def stop(self) -> None:
        """Draw what is left, and leave the terminal as it was."""
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
        """The terminal has another size."""
        self._columns = self._pen.size[0]
        self._region.resized(self._columns)
        self._draw()

    def _width(self, voice: Voice) -> int:
        return max(self._pen.width - 2 * voice.depth, 20)

    def _fold(self, line: Text, width: int) -> list[str]:
        """A long line on several; they begin where its words begin."""
        indent = len(line.plain) - len(line.plain.lstrip(" "))
        if indent > width // 2:
            indent = 0
        line.expand_tabs(4)
        parts = folded(line[indent:], width - indent)
        return [" " * indent + drawn for part in parts for drawn in self._pen.lines(part, width)]

    def _put(self, lines: list[str], voice: Voice, what: object) -> None:
        """Lines for good, with a margin for sub-agents and a blank line between things."""
        if not lines:
            return
        apart = self._last is not None and self._last != what
        if self._last != what and lines[0] == "":
            lines = lines[1:]
        margin = self._margin(voice.depth)
        if apart:
            outer = voice.depth if voice.id == self._voice else 0
            self._above.append(self._margin(outer).rstrip())
        if voice.depth and voice.id != self._voice:
            self._above += self._pen.lines(Text.assemble(("┌ ", "dim"), (voice.name, "dim bold")))
        self._above += [f"{margin}{line}" for line in lines]
        self._last, self._voice = what, voice.id
        self._soon()

    def _margin(self, depth: int) -> str:
        """The lines at the left of what sub-agents say."""
        return "".join(self._pen.lines(Text("│ " * depth, "dim"))) + " " if depth else ""

    def _soon(self) -> None:
        if self._timer is None:
            wait = max(_FRAME, 4 * self._cost)  # most of the time is for others
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
        first = max(len(lines) - rows, 0)  # of those that fit
        if cursor is not None:
            row = cursor[0] + len(growing)
            first = min(first, row)
            cursor = (row - first, cursor[1])
        self._region.draw(above, lines[first : first + rows], cursor)
        self._cost = time.perf_counter() - began
        if self._status is not None and self._asking is None:
            self._soon()  # so that it turns

    def _growing(self, room: int) -> list[str]:
        """What is not finished: words that grow, calls that run."""
        lines: list[str] = []
        for block_id, (voice, text) in self._texts.items():
            width = self._width(voice)
            self._put(text.settle(width, room), voice, block_id)
            lines += self._block(text.live(width), voice, block_id)
        for call in self._calls.values():
            width = self._width(call.voice)
            card = [head_of(call)]
            inside = [*([] if call.is_shown else input_of(call)), *output_of(call)]
            card += [Text.assemble("  ", line) for line in inside]
            drawn = [part for line in card for part in self._fold(line, width)]
            lines += self._block(drawn, call.voice, call)
        return lines

    def _block(self, lines: list[str], voice: Voice, what: object) -> list[str]:
        if not lines:
            return []
        margin = self._margin(voice.depth)
        if self._last is not None and self._last != what and lines[0] != "":
            lines = ["", *lines]
        return [f"{margin}{line}" for line in lines]

    def _below(self) -> tuple[list[str], tuple[int, int] | None]:
        """The plan, and what is going on or being asked."""
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
