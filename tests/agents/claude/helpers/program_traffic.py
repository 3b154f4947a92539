"""Records the lines between Turnwire and the real program, for tests that wait for one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from turnwire.agents.claude import ClaudeAgent
from turnwire.agents.claude.process.transport import Recorder
from turnwire.ports import SessionStart

# Moments of a question, by the direction and a word of the line: `in` to the program.
ASKS = ("out", b'"hook_callback"')
PUTS_ASIDE = ("in", b'"defer"')
IS_ASIDE = ("out", b'"tool_deferred"')
HAS_RESULT = ("out", b'"tool_result"')
Moment = tuple[str, bytes]


class Wire:
    """Collects the lines of all processes, in both directions."""

    def __init__(self, noted: Callable[[str, bytes], None] = lambda direction, line: None) -> None:
        self._noted = noted
        self._lines: list[tuple[str, bytes]] = []
        self._more = asyncio.Event()

    def note(self, direction: str, lines: Iterable[bytes]) -> None:
        for line in lines:
            self._lines.append((direction, line))
            self._noted(direction, line)
        self._more.set()

    def forget(self) -> None:
        """Forgets all lines so far."""
        self._lines.clear()

    async def until(self, moment: Moment) -> None:
        """Waits for a line with this word in this direction; a line that has passed counts."""
        direction, word = moment
        async with asyncio.timeout(180):
            while not any(d == direction and word in line for d, line in self._lines):
                self._more.clear()
                await self._more.wait()


class _Tap(Recorder):
    """Records the lines of one process, as a recorder would."""

    def __init__(self, wire: Wire, also: Recorder | None) -> None:
        self._wire = wire
        self._also = also

    def note(self, direction: str, lines: Iterable[bytes]) -> None:
        noted = list(lines)
        if self._also is not None:
            self._also.note(direction, noted)
        self._wire.note(direction, noted)

    def close(self) -> None:
        if self._also is not None:
            self._also.close()


class Tapped(ClaudeAgent):
    """The agent, with its wire to be looked at."""

    def __init__(self, wire: Wire, *given: Any, **settings: Any) -> None:
        super().__init__(*given, **settings)
        self._wire = wire

    def _recorder(self, start: SessionStart) -> Recorder:
        return _Tap(self._wire, super()._recorder(start))
