"""Sets up the process of our own server: short pauses, and free memory given back to the system."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import sys
from functools import cache

__all__ = ["give_back_memory", "set_up_process", "spare_the_collector"]

# Seconds after which a thread that reads from the store has to let the event loop run.
_SWITCH = 0.0005
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of glibc's <malloc.h>
_LARGE = 256 * 1024  # bytes
_FULL = 1_000  # collections of middle-aged objects until a full one; usually 10
_LOOK = 2.0  # seconds between two looks at how much memory is free
_MUCH = 4 * 1024 * 1024  # bytes that are free and worth being given back


class _Mallinfo2(ctypes.Structure):
    """glibc's `struct mallinfo2`; `fordblks` are the bytes that are free and still held."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks"),
            *("uordblks", "fordblks", "keepcost"),
        )
    )


def set_up_process() -> None:
    """For a process that is a server and nothing else: it changes what all threads of it share."""
    sys.setswitchinterval(min(_SWITCH, sys.getswitchinterval()))
    if sys.platform == "linux":
        _return_large_blocks()


@cache  # once in a process
def spare_the_collector() -> None:
    """Have the cycle collector leave alone what was made until now, as modules: it stays for good.

    A full collection looks at every object and stops all threads. With a server's own modules in it
    that takes about 30 ms, and a replay of a long log causes several. So they are rare, too: what is
    read for a replay is no cycle, and is freed without the collector.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _FULL)


async def give_back_memory() -> None:
    """Gives free memory back to the system now and then, until it is cancelled.

    A long answer comes in thousands of small pieces. When they are freed, their pages stay with the process as long as anything
    above them in the heap is in use.
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
            await asyncio.to_thread(trim, 0)  # ctypes lets the interpreter go meanwhile


def _return_large_blocks() -> None:
    """Have large blocks given back to the system as soon as they are free.

    glibc raises the size from which on it does so whenever such a block is freed, up to 32 MB. After
    one long answer most of the memory that it took would stay with the process.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library, which has rules of its own
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGE)
    mallopt(_M_TRIM_THRESHOLD, 4 * _LARGE)
    mallopt(_M_ARENA_MAX, 2)
