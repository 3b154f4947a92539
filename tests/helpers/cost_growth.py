"""Measures how the cost of some work grows, in processor time.

No limit in seconds: two works take turns, and the shortest time of each counts, because a busy machine only ever adds to a
time. A ratio that is too high is measured again, many times: noise goes away, a quadratic cost does not.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import thread_time
from typing import Any

_ROUNDS = 40
_LINEAR = 9.0  # four times as much input: 4 if the cost is linear, 16 if it is quadratic


def costs_at_most(times: float, small: Callable[[], Any], large: Callable[[], Any]) -> bool:
    """Returns whether `large` takes at most `times` the processor time of `small`."""
    shortest_small = shortest_large = float("inf")
    gc.disable()  # else the size of the test process counts as well
    try:
        for _ in range(_ROUNDS):
            shortest_small = min(shortest_small, _seconds(small))
            shortest_large = min(shortest_large, _seconds(large))
            if shortest_large <= times * max(shortest_small, 1e-6):
                return True
            gc.collect()
        return False
    finally:
        gc.enable()


def grows_linearly(work: Callable[[Any], Any], make: Callable[[int], Any], size: int) -> bool:
    """Returns whether four times the input takes about four times as long. `make` makes the input of a size."""
    small, large = make(size), make(4 * size)
    return costs_at_most(_LINEAR, lambda: work(small), lambda: work(large))


def _seconds(work: Callable[[], Any]) -> float:
    start = thread_time()
    work()
    return thread_time() - start
