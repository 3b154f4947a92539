"""How the cost of some work grows: in processor time, which does not depend on what else runs."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time
from typing import Any

_ROUNDS = 5
LINEAR = 9.0  # four times as much input: 4 if the cost is linear, 16 if it is quadratic


def cost_ratio(small: Callable[[], Any], large: Callable[[], Any]) -> float:
    """How many times the processor time of `small` is what `large` takes.

    They take turns, and the shortest time of each counts: whatever disturbs them only adds to a time.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for work, taken in zip((small, large), times, strict=True):
            start = thread_time()
            work()
            taken.append(thread_time() - start)
    return min(times[1]) / max(min(times[0]), 1e-6)


def growth(work: Callable[[str], Any], text_of: Callable[[int], str], size: int) -> float:
    """How many times the cost is for four times the text. `text_of` makes a text of a length."""
    small, large = text_of(size), text_of(4 * size)
    return cost_ratio(lambda: work(small), lambda: work(large))
