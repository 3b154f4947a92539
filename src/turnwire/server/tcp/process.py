"""Tunes the server process: short pauses, and free memory that is returned to the system."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from functools import cache

__all__ = ["give_back_memory", "set_up_process", "spare_the_collector"]

# Seconds after which a thread, such as a reader of the store, has to let the event loop run.
_SWITCH = 0.0005
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of glibc's <malloc.h>
_LARGE = 256 * 1024  # bytes
_FULL = 1_000  # collections of the middle generation before a full one; Python's default is 10
_LOOK = 2.0  # seconds between two checks of the free memory
_MUCH = 4 * 1024 * 1024  # free bytes from which on memory is returned


class _Mallinfo2(ctypes.Structure):
    """glibc's `struct mallinfo2`. `fordblks` are the free bytes that the process still holds."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
            *("uordblks", "fordblks", "keepcost"),
        )
    )


def set_up_process() -> None:
    """Sets up a process that is only a server: changes settings that all its threads share."""
    sys.setswitchinterval(min(_SWITCH, sys.getswitchinterval()))
    if sys.platform == "linux":
        _return_large_blocks()


@cache  # once in a process
def spare_the_collector() -> None:
    """Excludes all present objects, such as modules, from cycle collection: they stay for good.

    A full collection visits every object and stops all threads. With a server's own modules that
    takes about 30 ms, and a replay of a long log causes several. So full collections are also made
    rare: the objects of a replay have no cycles, and are freed without the collector.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _FULL)


async def give_back_memory() -> None:
    """Returns free memory to the system every few seconds, until the task is cancelled.

    A long answer comes in thousands of small pieces. When the pieces are freed, their pages stay
    with the process as long as any memory above them in the heap is in use.
    """
    try:
        libc = ctypes.CDLL(None)
        info, trim = libc.mallinfo2, libc.malloc_trim
    except (AttributeError, OSError):  # another C library, or an old one
        return
    info.restype = _Mallinfo2
    while True:
        await asyncio.sleep(_LOOK)
        if info().fordblks > _MUCH:
            await asyncio.to_thread(trim, 0)  # ctypes releases the GIL during the call


def _return_large_blocks() -> None:
    """Makes glibc return large blocks to the system as soon as they are free.

    By default glibc raises its threshold for that whenever such a block is freed, up to 32 MB.
    After one long answer most of its memory would stay with the process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGE)
    mallopt(_M_TRIM_THRESHOLD, 4 * _LARGE)
    mallopt(_M_ARENA_MAX, 2)
