"""Root may do everything, so where a test is about what may not be done, it gives that up."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

__all__ = ["like_everybody", "without_right_to_kill"]

_VERSION_3 = 0x20080522
_DROP_FOR_GOOD, _KILL = 24, 5  # of prctl(2), and of capabilities(7)
_DAC = 1 << 1 | 1 << 2  # to write and to read whatever the modes of files say


@contextmanager
def like_everybody() -> Iterator[None]:
    """The modes of files count, for this thread and those that it starts in here."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice
    assert libc.capget(header, data) == 0, os.strerror(ctypes.get_errno())
    before = data[0]
    data[0] = before & ~_DAC
    assert libc.capset(header, data) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        data[0] = before
        assert libc.capset(header, data) == 0, os.strerror(ctypes.get_errno())


def without_right_to_kill(work: Callable[[], None]) -> None:
    """Do this where what is started may end only the processes of its own user; needs root."""

    def run() -> None:
        # A thread of its own: what it gives up is its own, and that of what it starts.
        assert ctypes.CDLL(None).prctl(_DROP_FOR_GOOD, _KILL, 0, 0, 0) == 0
        work()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(run).result()
