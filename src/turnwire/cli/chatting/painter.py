"""Draws a conversation on the chat screen: one line per tool, the queue above the prompt."""

from __future__ import annotations

import asyncio
import time

from rich.text import Text

from turnwire.cli.chatting.screen import ChatScreen
from turnwire.cli.live.cards import Call, brief_of, plan_of
from turnwire.cli.live.lines import LinePainter
from turnwire.cli.live.pen import Pen

__all__ = ["ChatPainter"]

_FRAME = 1 / 20  # seconds between two drawings; more if drawing is slow


class ChatPainter(LinePainter):
    """Draws changes with a short delay, so that many changes are drawn at once."""

    def __init__(self, pen: Pen, screen: ChatScreen) -> None:
        super().__init__(pen)
        self._screen = screen
        self._waiting: list[Text] = []
        self._timer: asyncio.TimerHandle | None = None
        self._cost = 0.0  # seconds that the last drawing took
        self._is_over = False
        screen.on_resize = self._soon

    def waiting(self, lines: list[Text]) -> None:
        """Shows the queue, one line per message."""
        for line in lines:
            line.truncate(self._pen.width, overflow="ellipsis")
        self._waiting = lines
        self._soon()

    def draw(self) -> None:
        """Draws at once, because a person is about to be asked."""
        if self._timer is not None:
            self._timer.cancel()
        self._draw()

    def rest(self) -> None:
        """Ends a turn: its plan becomes a finished part of the screen."""
        self._put_plan()

    def stop(self) -> None:
        """Draws the remaining lines for the last time."""
        self._texts.clear()
        self._calls.clear()
        self._waiting = []
        self._put_plan()
        self._is_over = True
        self.draw()

    def _card(self, call: Call) -> list[Text]:
        line = brief_of(call)
        line.truncate(self._width(call.voice), overflow="ellipsis")
        return [line]

    def _soon(self) -> None:
        if self._timer is None and not self._is_over:
            wait = max(_FRAME, 4 * self._cost)
            self._timer = asyncio.get_running_loop().call_later(wait, self._draw)

    def _draw(self) -> None:
        began = time.perf_counter()
        self._timer = None
        if not self._screen.is_open:
            self._soon()
            return
        below = self._drawn(plan_of(self._steps)) if self._steps else []
        if self._waiting:
            below += [*([""] if below else []), *self._drawn(self._waiting)]
        room = max(self._screen.room - len(below) - 2, 2)
        lines = self._growing(room)[-room:]
        above, self._above = self._above, []
        if below:
            lines += ["", *below]
        if lines or self._last is not None:
            lines.append("")
        self._screen.show(above, lines)
        self._cost = time.perf_counter() - began

    def _drawn(self, lines: list[Text]) -> list[str]:
        return [part for line in lines for part in self._fold(line, self._pen.width)]
