"""Which shown text a server had the time to save before it was killed, by what the journal has measured.

The promise: text is saved once in a period. The time of a write is added to it, and the delay of a timer
on a busy machine (guarantee 17). Both are in the journal: when each write began and ended, and when the
event loop ran its timers. Of several nodes, one that was expelled can save nothing more: its time ends with the
first write of the node that took the conversation over.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from msgspec import Struct

from tests.prove.helpers import journal as j
from tests.prove.helpers.delays import RunningTime
from tests.prove.helpers.writers import Writers
from turnwire.ports import Claim, Commit

__all__ = ["Saves", "note_writes"]

STEPS = 0.1  # seconds: from a frame to its timer, and from the timer to the save; a few turns of the loop
LONGEST = 5.0  # seconds of a write; then the store gives its connection up


def note_writes(store: Any, journal: j.Journal) -> None:
    """Writes into the journal when each save and each commit of a store begins and ends."""
    numbers, pid = itertools.count(1), os.getpid()
    save, commit = store.save_partials, store.commit

    async def noted(claim: Claim, write: Callable[[], Awaitable[None]], is_save: bool) -> None:
        number, is_written = next(numbers), False
        talk = claim.conversation_id
        journal.write(j.Writes(pid=pid, talk=talk, number=number, is_save=is_save))
        try:
            await write()
            is_written = True
        finally:
            journal.write(j.Wrote(pid=pid, number=number, is_written=is_written))

    async def noted_save(claim: Claim, partials: Any) -> None:
        await noted(claim, lambda: save(claim, partials), True)

    async def noted_commit(each: Commit) -> None:
        await noted(each.claim, lambda: commit(each), False)

    store.save_partials, store.commit = noted_save, noted_commit


class Write(Struct):
    """One write of a server."""

    talk: str
    is_save: bool
    began: float
    ended: float | None = None  # None: the server was killed meanwhile
    is_written: bool = False


class Saves:
    """The saves of one server, and the time that it had for them."""

    def __init__(
        self, lines: Iterable[j.Lines], began: j.Began, outages: Iterable[j.Away] = ()
    ) -> None:
        lines = list(lines)
        self._period = began.save_every
        self._outages = list(outages)
        self._running = RunningTime(lines, began.pid)
        self._writes: dict[int, Write] = {}
        self._pid = began.pid
        self._writers = Writers(lines)
        self.end = began.at  # the server lived then
        for line in lines:
            match line:
                case j.Ticked(pid=began.pid):
                    pass
                case j.Writes(pid=began.pid):
                    self._writes[line.number] = Write(line.talk, line.is_save, line.at)
                case j.Wrote(pid=began.pid):
                    write = self._writes[line.number]
                    write.ended, write.is_written = line.at, line.is_written
                case _:
                    continue
            self.end = line.at

    def have_to_hold(self, talk: str, shown_at: float) -> bool:
        """Returns whether text that was shown at this time must have been saved."""
        since = shown_at  # the period of the text begins here
        writes = [each for each in self._writes.values() if each.talk == talk]
        if self._writers.is_expelled(self._pid, talk, shown_at):
            return False
        taken_over = self._writers.taken_over_at(self._pid, talk, shown_at)
        end = self.end if taken_over is None else min(self.end, taken_over)
        for save in writes:
            until = end if save.ended is None else save.ended
            if not save.is_save or until <= shown_at:
                continue
            was_away = any(a.at < until and a.until > save.began for a in self._outages)
            if save.ended is None:
                return self._running.seconds(save.began, until) > LONGEST and not was_away
            if self._running.seconds(shown_at, save.began) <= STEPS:
                since = until  # the text came too late for this save
            elif save.is_written:
                return True
            elif was_away:
                since = until  # the next save tries again
        # A block that has ended is not saved: it is in a commit, which takes its time.
        commits = [
            j.Away(at=each.began, until=end if each.ended is None else each.ended)
            for each in writes
            if not each.is_save
        ]
        left = self._running.seconds(since, end, [*self._outages, *commits])
        return left > self._period + STEPS
