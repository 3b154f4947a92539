"""Drops privileges of root for tests about missing permissions."""

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
    """Makes the modes of files count for root, in this thread and in threads that it starts."""
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
    """Runs `work` where new processes may end only processes of their own user; needs root."""

    def run() -> None:
        # A separate thread: only the thread and the processes that it starts lose the capability.
        assert ctypes.CDLL(None).prctl(_DROP_FOR_GOOD, _KILL, 0, 0, 0) == 0
        work()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(run).result()
