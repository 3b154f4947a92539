"""What our own server asks of its process: short pauses, and memory that is given back."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache

__all__ = ["set_up_process", "spare_the_collector"]

# Seconds after which a thread that reads from the store has to let the event loop run.
_SWITCH = 0.0005
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # of glibc's <malloc.h>
_LARGE = 256 * 1024  # bytes
_FULL = 1_000  # collections of middle-aged objects until a full one; usually 10


def set_up_process() -> None:
    """For a process that is a server and nothing else: it changes what all threads of it share."""
    sys.setswitchinterval(min(_SWITCH, sys.getswitchinterval()))
    if sys.platform == "linux":
        _give_back_memory()


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


def _give_back_memory() -> None:
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
