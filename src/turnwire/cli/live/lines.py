"""Turns the story into terminal lines: finished lines, and lines that still change."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from turnwire.cli.live.cards import Call, Voice, head_of, input_of, output_of, plan_of, result_of
from turnwire.cli.live.fold import folded
from turnwire.cli.live.growing import GrowingText
from turnwire.cli.live.pen import Pen
from turnwire.cli.live.story import AGENT, Kind

__all__ = ["LinePainter"]

_STYLES: dict[Kind, str] = {"text": "none", "thinking": "dim italic"}


class LinePainter:
    """Keeps the lines. A subclass draws them, and implements `_soon` to schedule a drawing."""

    def __init__(self, pen: Pen) -> None:
        self._pen = pen
        self._above: list[str] = []  # finished lines that were not drawn yet
        self._last: object = None  # the block or call of the last line
        self._voice: str | None = None  # the voice of the last line
        self._texts: dict[str, tuple[Voice, GrowingText]] = {}
        self._calls: dict[str, Call] = {}
        self._steps: list[Any] = []

    def _soon(self) -> None:
        """Schedules a drawing, because something has changed."""
        raise NotImplementedError

    # --- words --------------------------------------------------------------------------------

    def said(self, text: str) -> None:
        """Shows a person's message."""
        self.note([Text(f"> {line}", "bold") for line in text.split("\n")])

    def grow(self, block_id: str, voice: Voice, kind: Kind, piece: str) -> None:
        """Adds a piece to a block."""
        self._text(block_id, voice, kind).add(piece)
        self._soon()

    def finish(self, block_id: str, voice: Voice, kind: Kind, text: str) -> None:
        """Finishes a block with its final text."""
        grown = self._text(block_id, voice, kind)
        del self._texts[block_id]
        self._put(grown.finish(text, self._width(voice)), voice, block_id)

    def take_back(self, block_id: str) -> None:
        """Removes a discarded block. If a part was already drawn for good, adds a note."""
        voice, grown = self._texts.pop(block_id, (AGENT, None))
        if grown is not None and grown.begun:
            self.note([Text("The agent discarded this text.", "dim italic")], voice)
        self._soon()

    def cut(self, block_id: str, why: str) -> None:
        """Keeps the received part of a block on the screen, with a note that it is not in the log."""
        if block_id in self._texts:
            voice, grown = self._texts.pop(block_id)
            self._put(grown.finish(grown.text, self._width(voice)), voice, block_id)
            self.note([Text(why, "dim italic")], voice)

    def _text(self, block_id: str, voice: Voice, kind: Kind) -> GrowingText:
        if block_id not in self._texts:
            self._texts[block_id] = voice, GrowingText(self._pen, _STYLES[kind])
        return self._texts[block_id][1]

    # --- calls and notes ------------------------------------------------------------------------

    def run(self, call: Call) -> None:
        """Shows a running call."""
        self._calls[call.id] = call
        self._soon()

    def close(self, call: Call) -> None:
        """Draws a call for good: at its end, or its head when its sub-agent begins to speak."""
        self._calls.pop(call.id, None)
        self.note(self._card(call), call.voice)
        if not call.is_over:
            self._voice = call.id  # the head of the call is the heading of the sub-agent

    def _card(self, call: Call) -> list[Text]:
        """Returns the lines of a call in its current state."""
        inside = [] if call.is_shown else input_of(call)
        inside += result_of(call) if call.is_over else output_of(call)
        return [head_of(call), *(Text.assemble("  ", line) for line in inside)]

    def forget(self, call: Call) -> None:
        """Removes a call from the running ones."""
        if self._calls.pop(call.id, None) is not None:
            self._soon()

    def note(self, lines: list[Text], voice: Voice = AGENT) -> None:
        """Adds finished lines."""
        width = self._width(voice)
        self._put([drawn for line in lines for drawn in self._fold(line, width)], voice, object())

    def plan(self, items: list[Any]) -> None:
        """Shows the plan below the text, until it is completed or the turn ends."""
        self._steps = items
        if all(isinstance(item, dict) and item.get("status") == "completed" for item in items):
            self._put_plan()
        self._soon()

    def _put_plan(self) -> None:
        if self._steps:
            steps, self._steps = self._steps, []
            self.note(plan_of(steps))

    # --- lines ----------------------------------------------------------------------------------

    def _width(self, voice: Voice) -> int:
        return max(self._pen.width - 2 * voice.depth, 20)

    def _fold(self, line: Text, width: int) -> list[str]:
        """Folds a long line. The continuation lines keep its indentation."""
        indent = len(line.plain) - len(line.plain.lstrip(" "))
        if indent > width // 2:
            indent = 0
        line.expand_tabs(4)
        parts = folded(line[indent:], width - indent)
        return [" " * indent + drawn for part in parts for drawn in self._pen.lines(part, width)]

    def _put(self, lines: list[str], voice: Voice, what: object) -> None:
        """Adds finished lines, with a margin for sub-agents and a blank line between blocks."""
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
        """Returns the vertical lines to the left of a sub-agent's text."""
        return "".join(self._pen.lines(Text("│ " * depth, "dim"))) + " " if depth else ""

    def _growing(self, room: int) -> list[str]:
        """Returns the lines of streaming texts and running calls."""
        lines: list[str] = []
        for block_id, (voice, text) in self._texts.items():
            width = self._width(voice)
            self._put(text.settle(width, room), voice, block_id)
            lines += self._block(text.live(width), voice, block_id)
        for call in self._calls.values():
            width = self._width(call.voice)
            drawn = [part for line in self._card(call) for part in self._fold(line, width)]
            lines += self._block(drawn, call.voice, call)
        return lines

    def _block(self, lines: list[str], voice: Voice, what: object) -> list[str]:
        if not lines:
            return []
        margin = self._margin(voice.depth)
        if self._last is not None and self._last != what and lines[0] != "":
            lines = ["", *lines]
        return [f"{margin}{line}" for line in lines]
