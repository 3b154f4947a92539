"""A time limit for a test: one that hangs fails and names what it waits for, instead of holding up all others."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

__all__ = ["SECONDS", "time_limit"]

# Far more than any test takes on a busy machine. The process of a test that does not even react to this ends a minute
# later: see faulthandler_timeout in pyproject.toml.
SECONDS = 240.0


class TookTooLong(BaseException):
    """No `except Exception` of a test or of the code under test catches it."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Generator[None]:
    """Raises TookTooLong in the main thread after `seconds`, and prints what every task of the event loop waits for."""

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        _print_tasks()
        raise TookTooLong(f"the test took more than {seconds:g} s")

    handler = signal.signal(signal.SIGALRM, give_up)
    # Again and again: asyncio swallows what is raised while a callback runs.
    remaining, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 5)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(
            signal.ITIMER_REAL, remaining, interval
        )  # of a limit around this one; 0 is none


def _print_tasks() -> None:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return  # the traceback of the main thread says it all
    for task in asyncio.all_tasks(loop):
        task.print_stack(file=sys.stderr)
