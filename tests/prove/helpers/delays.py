"""Delays that the journal has measured: the database was away, or the event loop of a server stood still."""

from __future__ import annotations

import asyncio
import os
from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import pairwise

from tests.prove.helpers import journal as j
from tests.prove.helpers.history import History

__all__ = ["RunningTime", "keep_ticking", "outages_of"]

TICK = 0.02  # seconds between two lines of a loop that has nothing else to do
AGAIN_SECONDS = 1.0  # until a store has connected again to a database that was away


async def keep_ticking(journal: j.Journal) -> None:
    """Writes when the event loop runs its timers, for as long as this task runs."""
    while True:
        journal.write(j.Ticked(pid=os.getpid()))
        await asyncio.sleep(TICK)


class RunningTime:
    """The time in which the event loop of one server ran its timers."""

    def __init__(self, lines: Iterable[j.Lines], pid: int) -> None:
        self._ticks = [line.at for line in lines if isinstance(line, j.Ticked) and line.pid == pid]

    def seconds(self, begin: float, end: float, outages: Iterable[j.Away] = ()) -> float:
        """Returns the seconds between two moments, without those in which the loop stood still.

        Without the outages, too, in which it had nothing to do but wait.
        """
        first = max(0, bisect(self._ticks, begin) - 1)
        last = bisect(self._ticks, end)
        lost = [
            (tick + TICK, following)
            for tick, following in pairwise([*self._ticks[first : last + 1], end])
        ]
        lost += [(away.at, away.until) for away in outages]
        seconds, since = end - begin, begin
        for left, right in sorted(lost):
            left, right = max(left, since), min(right, end)
            if right > left:
                seconds -= right - left
                since = right
        return seconds


def outages_of(history: History, pid: int) -> Iterator[j.Away]:
    """Yields when a server could not write: its database was away, or a connection was lost."""
    for away in history.of(j.Away):
        yield j.Away(at=away.at, until=away.until + AGAIN_SECONDS)
    began, in_doubt = 0.0, 0
    for line in history.lines:
        if isinstance(line, j.InDoubt) and line.pid == pid:
            began = began if in_doubt else line.at
            in_doubt += line.commits
        elif isinstance(line, j.Certain) and line.pid == pid:
            in_doubt -= line.commits
            if not in_doubt:
                yield j.Away(at=began, until=line.at)
    if in_doubt:  # it was killed meanwhile
        yield j.Away(at=began, until=history.lines[-1].at)
