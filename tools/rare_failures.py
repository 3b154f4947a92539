"""Tries tests again that have failed in CI, and names those that failed only once.

Thousands of tests kill processes and cut connections here. A race that shows once in a thousand runs
is a defect, but it says nothing about the change that is tested. So a test that has failed is run
`TRIES` more times: if it fails again, so does CI. If not, it is written to the file that
TURNWIRE_RARE_FAILURES names, and CI prints that file at its end. Without this variable, no test is
tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

__all__ = ["MOST", "TRIES", "tried_again"]

TRIES = 5
MOST = 3  # tests that may fail: more of them are no accident


def tried_again(code: int, failed: Sequence[str], run: Callable[[str], int], rare: str) -> int:
    """Runs each failed test again. Returns `code` if one of them fails again, or too many failed."""
    if not failed or len(failed) > MOST:
        return code
    for test in failed:
        for number in range(1, TRIES + 1):
            print(f"\n{test} has failed. Try {number} of {TRIES}:", flush=True)
            if run(test):
                return code
    with Path(rare).open("a") as file:
        file.writelines(f"{test}\n" for test in failed)
    return 0
