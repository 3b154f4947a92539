"""Which shown text a server had the time to save before it was killed, by what the journal has measured.

The promise: text is saved once in a period. The time of a write is added to it, and the delay of a timer
on a busy machine (guarantee 17). Both are in the journal: when each save began and ended, and when the
event loop ran its timers.
"""

from __future__ import annotations

import asyncio
import os
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from tests.prove.helpers import journal as j
from turnwire.core.partials import Partial
from turnwire.ports import Claim

__all__ = ["Saves", "keep_ticking", "note_saves"]

TICK = 0.02  # seconds between two lines of a loop that has nothing else to do
STEPS = 0.1  # seconds: from a frame to its timer, and from the timer to the save; a few turns of the loop
LONGEST = 5.0  # seconds of a write; then the store gives its connection up


async def keep_ticking(journal: j.Journal) -> None:
    """Writes when the event loop runs its timers, for as long as this task runs."""
    while True:
        journal.write(j.Ticked(pid=os.getpid()))
        await asyncio.sleep(TICK)


def note_saves(store: Any, journal: j.Journal) -> None:
    """Writes when each save of a store begins and ends."""
    save, pid = store.save_partials, os.getpid()

    async def noted(claim: Claim, partials: Sequence[Partial]) -> None:
        talk, is_saved = claim.conversation_id, False
        journal.write(j.Saves(pid=pid, talk=talk))
        try:
            await save(claim, partials)
            is_saved = True
        finally:
            journal.write(j.Saved(pid=pid, talk=talk, is_saved=is_saved))

    store.save_partials = noted


class Saves:
    """The saves of one server, and the time that it had for them."""

    def __init__(
        self, lines: Iterable[j.Lines], began: j.Began, outages: Iterable[j.Away] = ()
    ) -> None:
        self._period = began.save_every
        self._outages = list(outages)
        self._ticks: list[float] = []
        self._saves: dict[str, list[tuple[j.Saves, j.Saved | None]]] = defaultdict(list)
        self.end = began.at  # the server lived then
        for line in lines:
            match line:
                case j.Ticked(pid=began.pid):
                    self._ticks.append(line.at)
                case j.Saves(pid=began.pid):
                    self._saves[line.talk].append((line, None))
                case j.Saved(pid=began.pid):
                    begin, _ = self._saves[line.talk][-1]  # a conversation saves once at a time
                    self._saves[line.talk][-1] = (begin, line)
                case _:
                    continue
            self.end = line.at

    def have_to_hold(self, talk: str, shown_at: float) -> bool:
        """Returns whether text that was shown at this time must have been saved."""
        since = shown_at  # the period of the text begins here
        for begin, ended in self._saves[talk]:
            until = self.end if ended is None else ended.at
            if until <= shown_at:
                continue
            was_away = any(a.at < until and a.until > begin.at for a in self._outages)
            if ended is None:  # it was killed during a write
                return until - begin.at > LONGEST and not was_away
            if self._seconds_between(shown_at, begin.at) <= STEPS:
                since = until  # the text came too late for this save
            elif ended.is_saved:
                return True
            elif was_away:
                since = until  # the next save tries again
        return self._seconds_between(since, self.end) > self._period + STEPS

    def _seconds_between(self, begin: float, end: float) -> float:
        """Returns the seconds in which the event loop ran timers: without those in which it stood."""
        first = max(0, bisect(self._ticks, begin) - 1)
        last = bisect(self._ticks, end)
        stood = 0.0
        for tick, following in pairwise([*self._ticks[first : last + 1], self.end]):
            late = tick + TICK
            stood += max(0.0, min(following, end) - max(late, begin))
        return end - begin - stood
