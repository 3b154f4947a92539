"""What Turnwire adds to the processor time of an agent's program, beside a bare client of it.

Each variant runs in its own process, so that neither affects the other. Turns alternate, so that
other load affects both.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple

from benchmarks.measuring import judged
from turnwire.agents.guard import descendants_of, running

__all__ = ["ROUNDS", "WARM", "Side", "Spent", "added_cpu", "answer_turns"]

ROUNDS = 10
WARM = 2  # warm-up rounds, in which the programs reach their normal speed


class Spent(NamedTuple):
    """Processor time in seconds."""

    own: float  # of the client or the server, with its guard processes
    program: float  # of the agent's program


def _spent(name: str, models: Collection[int]) -> Spent:
    """Returns the processor time of this process and its descendants, without the models."""
    own, program = time.process_time(), 0.0
    for process in descendants_of(os.getpid(), running()):
        if process.pid not in models and not process.dead:
            # Reads the CPU clock of another process; /proc only has hundredths of a second.
            try:
                seconds = time.clock_gettime((~process.pid << 3) | 2)
            except OSError:  # it has ended since the list was made
                continue
            if process.name == name:
                program += seconds
            else:
                own += seconds
    return Spent(own, program)


async def answer_turns(
    turn: Callable[[], Awaitable[None]], name: str, models: Collection[int]
) -> None:
    """Runs one turn for each line of standard input, and prints the time it took.

    `name`: of the agent's program; `models`: process ids of scripted models.
    """
    while await asyncio.to_thread(sys.stdin.readline):
        before = _spent(name, models)
        await turn()
        now = _spent(name, models)
        print(json.dumps([now.own - before.own, now.program - before.program]), flush=True)


class Side:
    """One of the variants in its own process."""

    def __init__(self, module: str, who: str) -> None:
        command = [sys.executable, "-m", module, who]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def turn(self) -> Spent:
        """Runs one turn."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"go\n")
        self._process.stdin.flush()
        return Spent(*json.loads(self._process.stdout.readline()))

    def end(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def added_cpu(bare: Side, ours: Side, *, deltas: int, program: str) -> bool:
    """Alternates turns of both variants; uses median ratios."""
    pairs = [(bare.turn(), ours.turn()) for _ in range(WARM + ROUNDS)][WARM:]
    for side in (bare, ours):
        side.end()
    for name, turns in zip(("bare", "ours"), zip(*pairs, strict=True), strict=True):
        own, of_program = (statistics.median(each) * 1e3 for each in zip(*turns, strict=True))
        print(f"  {deltas} deltas, {name}: {own:.0f} ms, and {of_program:.0f} ms of {program}")
    added = [(sum(with_us) - sum(alone)) / sum(alone) for alone, with_us in pairs]
    in_server = [(with_us.own - alone.own) / sum(alone) for alone, with_us in pairs]
    met = judged("added / bare, all included", statistics.median(added), 0.15)
    print(f"  {'of that in the server':<34}{statistics.median(in_server):7.2f}")
    return met
